exports.activate = () => {
  throw new Error('no such server');
};
