package testkafka

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed pom.xml
var pom []byte

//go:embed log4j2.properties
var logging []byte

// installation is what a broker starts from. It is the same for every cluster
// and kept between runs.
type installation struct {
	dir       string // holds the files below
	java      string
	classPath string
	tools     bool
}

// archive holds the classes that a broker loads, ready to map. It may be
// missing: then Java loads them one by one, in twice the time.
func (i *installation) archive() string { return filepath.Join(i.dir, "classes.jsa") }

// checkpoint carries Kafka's feature levels. Without it a cluster starts and
// has the consumer protocol and the newer transactions switched off.
func (i *installation) checkpoint() string { return filepath.Join(i.dir, checkpointName) }

const checkpointName = "bootstrap.checkpoint"

func (i *installation) loggingConfig() string { return filepath.Join(i.dir, "log4j2.properties") }

// install finds Java and sees to it that everything else is there. The first
// time this resolves some 50 MB of jars and starts Kafka once.
func install(ctx context.Context, o Options) (*installation, error) {
	java, err := findJava()
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find a directory to keep files in: %w", err)
	}
	i := &installation{java: java, tools: o.Tools}
	if i.dir, err = i.home(filepath.Join(cache, "holdfast")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(i.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", i.dir, err)
	}
	unlock, err := lockFile(ctx, filepath.Join(i.dir, "lock"))
	if err != nil {
		return nil, err
	}
	return i, errors.Join(i.complete(ctx, o.Log), unlock())
}

// home returns a directory that no other set of jars and no other Java share.
func (i *installation) home(cache string) (string, error) {
	path, err := filepath.EvalSymlinks(i.java)
	if err != nil {
		return "", fmt.Errorf("look at java: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("look at java: %w", err)
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s %d %d %t\n", path, info.Size(), info.ModTime().UnixNano(), i.tools)
	for _, part := range [][]byte{pom, logging} {
		sum.Write(part)
	}
	name := fmt.Sprintf("kafka-%s-%s", Version, hex.EncodeToString(sum.Sum(nil))[:12])
	return filepath.Join(cache, name), nil
}

// complete makes what is missing. The caller holds the lock.
func (i *installation) complete(ctx context.Context, log io.Writer) error {
	if err := writeFile(i.loggingConfig(), logging); err != nil {
		return err
	}
	list := filepath.Join(i.dir, "classpath")
	known, err := os.ReadFile(list)
	if err != nil || !allThere(string(known)) {
		fmt.Fprintf(log, "resolving Apache Kafka %s with Maven\n", Version)
		if known, err = i.resolve(ctx); err != nil {
			return err
		}
		// The archive holds for exactly one list of jars.
		if err := os.Remove(i.archive()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove stale archive: %w", err)
		}
		if err := writeFile(list, known); err != nil {
			return err
		}
	}
	i.classPath = strings.TrimSpace(string(known))
	if _, err := os.Stat(i.checkpoint()); err == nil {
		return nil
	}
	fmt.Fprintln(log, "preparing Apache Kafka, once")
	return i.rehearse(ctx)
}

// allThere tells whether every jar of a class path is still there.
func allThere(classPath string) bool {
	jars := filepath.SplitList(strings.TrimSpace(classPath))
	for _, jar := range jars {
		if _, err := os.Stat(jar); err != nil {
			return false
		}
	}
	return len(jars) > 0
}

// resolve asks Maven for the class path, fetching jars that are missing.
func (i *installation) resolve(ctx context.Context) ([]byte, error) {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return nil, fmt.Errorf("find Maven, which resolves Kafka's jars: %w", err)
	}
	dir, err := os.MkdirTemp(i.dir, "resolve-")
	if err != nil {
		return nil, fmt.Errorf("resolve Kafka's jars: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // scratch inside the cache
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), pom, 0o600); err != nil {
		return nil, fmt.Errorf("resolve Kafka's jars: %w", err)
	}
	out := filepath.Join(dir, "classpath")
	args := []string{"-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=" + out}
	if i.tools {
		args = append(args, "-Ptools")
	}
	cmd := exec.CommandContext(ctx, mvn, args...) //nolint:gosec // found on the path
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("resolve Kafka's jars: %w\n%s", err, said)
	}
	list, err := os.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("resolve Kafka's jars: %w", err)
	}
	if !allThere(string(list)) {
		return nil, fmt.Errorf("resolve Kafka's jars: Maven named jars that are not there: %s", list)
	}
	return list, nil
}

// findJava prefers JAVA_HOME, as Maven does.
func findJava() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path := filepath.Join(home, "bin", "java")
		if _, err := exec.LookPath(path); err != nil {
			return "", fmt.Errorf("find java below JAVA_HOME: %w", err)
		}
		return path, nil
	}
	path, err := exec.LookPath("java")
	if err != nil {
		return "", fmt.Errorf("find java, 17 or later: %w", err)
	}
	return path, nil
}

// writeFile writes a file whole or not at all.
func writeFile(path string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
