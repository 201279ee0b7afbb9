package extract

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// Stamp is what a scan saw of a file: enough to know, without opening it, that
// it need not be read again.
//
// A missing file has Size -1 and nothing else. A file that could not be read has
// DigestHi 0 and a small DigestLo that stands for the reason; it is tried again
// by every scan, since what kept us out may leave no trace in it.
type Stamp struct {
	Size     int64
	MtimeNS  int64
	CtimeNS  int64
	Ino      int64
	ReadAtNS int64
	DigestHi int64
	DigestLo int64
}

// racyWindow is how far a file's mtime must lie from the moment it was read. Within
// it, a file system with coarse times may give a later write the same mtime.
const racyWindow = 2 * time.Second

const missingSize = -1

func missingStamp() Stamp { return Stamp{Size: missingSize} }

// Missing says that there was no such file.
func (s *Stamp) Missing() bool { return s.Size == missingSize }

// faulty says that the file was there and could not be read.
func (s *Stamp) faulty() bool {
	return !s.Missing() && s.DigestHi == 0 && s.DigestLo >= 0 && s.DigestLo < int64(troubles)
}

// racy says that the file was read so soon after it was written, or so long
// before its mtime, that the stamp proves nothing.
func (s *Stamp) racy() bool {
	d := s.MtimeNS - s.ReadAtNS
	return d >= -int64(racyWindow) && d <= int64(racyWindow)
}

// sameFile compares what lstat tells.
func (s *Stamp) sameFile(o *Stamp) bool {
	return s.Size == o.Size && s.MtimeNS == o.MtimeNS && s.CtimeNS == o.CtimeNS && s.Ino == o.Ino
}

// sameContent compares digests, or reasons why there is none.
func (s *Stamp) sameContent(o *Stamp) bool {
	return s.Missing() == o.Missing() && s.DigestHi == o.DigestHi && s.DigestLo == o.DigestLo
}

// settled says that a file which still looks like now needs no reading.
func (s *Stamp) settled(now *Stamp) bool {
	return s.sameFile(now) && !s.racy() && !s.faulty()
}

func (s *Stamp) setStat(st *unix.Stat_t) {
	s.Size = st.Size
	s.MtimeNS = st.Mtim.Nano()
	s.CtimeNS = st.Ctim.Nano()
	s.Ino = int64(st.Ino)
}

func (s *Stamp) setDigest(content []byte) {
	sum := sha256.Sum256(content)
	s.DigestHi = int64(binary.BigEndian.Uint64(sum[:8]))
	s.DigestLo = int64(binary.BigEndian.Uint64(sum[8:16]))
}

func (s *Stamp) setTrouble(t trouble) {
	s.DigestHi, s.DigestLo = 0, int64(t)
}
