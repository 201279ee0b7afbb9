package jobs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/thtbatch/thtbatch/internal/fault"
	"github.com/thtbatch/thtbatch/internal/load/qdranttest"
)

// certificate makes one for this machine, and the file of its authority.
func certificate(t *testing.T) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, path
}

// A key goes over TLS, to a server whose certificate the system trusts and to no
// other. What the system trusts is read once a process: the runs are children.
func TestTLS(t *testing.T) {
	own, authority := certificate(t)
	server, err := qdranttest.Start(qdranttest.Options{APIKey: "write-key", TLS: &tls.Config{Certificates: []tls.Certificate{own}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	d := cleanDesk(t, 2)
	d.settings.Index.Store, d.settings.Index.URL, d.settings.Index.Tries = "qdrant", server.URL(), 2
	d.settings.Index.KeyFile = filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(d.settings.Index.KeyFile, []byte("write-key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, log := d.start(t, order{Argv: []string{"backfill"}}).wait(t); code != int(fault.Failed) || len(server.Points(collection)) != 0 {
		t.Fatalf("a certificate that nobody trusts: exit %d\n%s", code, log)
	}
	t.Setenv("SSL_CERT_FILE", authority)
	if code, log := d.start(t, order{Argv: []string{"backfill"}}).wait(t); code != int(fault.Done) || len(server.Points(collection)) != 4 {
		t.Fatalf("a certificate of a known authority: exit %d, %d points\n%s", code, len(server.Points(collection)), log)
	}
}
