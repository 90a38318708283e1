package sys

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// LoopMount makes a mount of the ext4 file system in an image, open for reading
// and writing, that is not attached anywhere. The image stays locked until the
// last mount of it is gone, also when that is after this process; EWOULDBLOCK
// while it is.
func LoopMount(image *os.File, attrs int) (mount int, err error) {
	fd := int(image.Fd())
	// The kernel keeps the open file, and with it the lock, for the device.
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return -1, err
	}
	device, dev, err := loopDevice(fd)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dev)
	return NewFilesystem("ext4", attrs, "source", device)
}

// loopDevice makes a block device of an open file. It goes by itself when
// nobody uses it any more.
func loopDevice(file int) (path string, fd int, err error) {
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", -1, err
	}
	defer unix.Close(control)
	for range 64 { // somebody may be faster
		n, err := unix.IoctlRetInt(control, unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return "", -1, err
		}
		path = "/dev/loop" + strconv.Itoa(n)
		if fd, err = unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return "", -1, err
		}
		config := unix.LoopConfig{Fd: uint32(file)}
		config.Info.Flags = unix.LO_FLAGS_AUTOCLEAR
		if err = unix.IoctlLoopConfigure(fd, &config); err == nil {
			return path, fd, nil
		}
		unix.Close(fd)
		if err != unix.EBUSY {
			return "", -1, err
		}
	}
	return "", -1, unix.EBUSY
}

// MakeImage makes a file of holes that no other program reads, for a file
// system of size bytes. os.ErrExist when it is there already.
func MakeImage(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = f.Truncate(size)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}
