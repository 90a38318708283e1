package sys

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// LoopMount makes an unattached mount of the ext4 file system in an image, which
// must be open for reading and writing. The image stays locked until its last mount
// is gone, even after the end of this process; LoopMount returns EWOULDBLOCK if it
// is locked.
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

// loopDevice makes a block device of an open file. The device is removed after its
// last use.
func loopDevice(file int) (path string, fd int, err error) {
	control, err := unix.Open("/dev/loop-control", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", -1, err
	}
	defer unix.Close(control)
	for range 64 { // another process may be faster
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

// MakeImage makes a sparse file that no other user can read, for a file system of
// size bytes. The error is os.ErrExist if it exists already.
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
