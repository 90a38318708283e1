package files

// canPin: without it nothing can be judged and then used as it was judged.
const canPin = true
