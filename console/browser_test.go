package console_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/color/palette"
	"image/draw"
	"image/png"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/hostsup/hostsup/console"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sdk/demo"
)

var pictures = flag.Bool("pictures", false, "write the pictures of docs/console anew")

// TestMain plays a demo host when a test starts this program as one.
func TestMain(m *testing.M) {
	if os.Getenv("DEMO") != "" {
		leaktest.Exit(demo.Main(context.Background()))
	}
	leaktest.Main(m)
}

// patience bounds waits for what is about to happen. A loaded machine is slow.
const patience = 30 * time.Second

// secretOf is the text of the token that has a role.
func secretOf(r control.Role) string { return strings.Repeat(string(r)+"-", 10) }

// serve serves sup with the page, where each role has a token, and returns the URL.
func serve(t *testing.T, sup control.Supervisor, opt control.Options) string {
	t.Helper()
	access := control.Access{Page: console.Page()}
	for _, r := range control.Roles() {
		tok, err := control.NewToken("of-"+string(r), r, secretOf(r))
		if err != nil {
			t.Fatal(err)
		}
		access.Tokens = append(access.Tokens, tok)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := control.NewServer(sup, opt)
	done := make(chan error, 1)
	go func() { done <- srv.ServeConsole(l, access) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := errors.Join(srv.Close(ctx), <-done); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("close the console: %v", err)
		}
	})
	return "http://" + l.Addr().String() + "/"
}

// tab is a page in a browser of its own.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu      sync.Mutex
	errors  []string // what its console has shown as one
	foreign []string // requests to elsewhere
}

// open opens the page at url in a headless browser, as one with a token. At the end of
// the test the browser must have had no error, and requested nothing from elsewhere.
func open(t *testing.T, url string, role control.Role) *tab {
	t.Helper()
	b := browse(t, url)
	b.run(chromedp.Navigate(url + "#token=" + secretOf(role)))
	b.until(`document.querySelector('#link').dataset.live === 'true'`)
	return b
}

// browse starts a browser for the page at url.
func browse(t *testing.T, url string) *tab {
	t.Helper()
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		require.Missing(t, "chromium; apt-get install chromium has it")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"),
		chromedp.WindowSize(1360, 860), chromedp.WSURLReadTimeout(patience))
	alloc, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), opts...)
	b := &tab{t: t}
	ctx, cancel := chromedp.NewContext(alloc, chromedp.WithErrorf(t.Logf), chromedp.WithListener(func(ev any) { b.heard(ev, url) }))
	b.ctx = ctx
	t.Cleanup(func() {
		ending, done := context.WithTimeout(ctx, 20*time.Second)
		defer done()
		if err := chromedp.Cancel(ending); err != nil {
			t.Logf("end the browser: %v", err)
		}
		cancel()
		stop()
		chromedp.FromContext(ctx).Allocator.Wait()
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.errors {
			t.Errorf("the browser's console has an error: %s", e)
		}
		for _, u := range b.foreign {
			t.Errorf("the page requests %s", u)
		}
	})
	if err := chromedp.Do(ctx); err != nil { // starts it; the context of a later one may end
		t.Fatalf("start %s: %v", program, err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *tab) heard(ev any, url string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if at := ev.Request.URL; !strings.HasPrefix(at, url) && !strings.HasPrefix(at, "data:") && at != "about:blank" {
			b.foreign = append(b.foreign, at)
		}
	case *runtime.EventExceptionThrown:
		text := ev.ExceptionDetails.Text
		if e := ev.ExceptionDetails.Exception; e != nil {
			text += " " + e.Description
		}
		b.errors = append(b.errors, text)
	case *runtime.EventConsoleAPICalled:
		if ev.Type == "error" || ev.Type == "warning" {
			text := string(ev.Type)
			for _, a := range ev.Args {
				text += " " + string(a.Value) + a.Description
			}
			b.errors = append(b.errors, text)
		}
	case *log.EventEntryAdded:
		if ev.Entry.Level == "error" || ev.Entry.Level == "warning" {
			b.errors = append(b.errors, ev.Entry.Text+" "+ev.Entry.URL)
		}
	}
}

// forget returns the errors so far, which were to come.
func (b *tab) forget() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.errors
	b.errors = nil
	return out
}

func (b *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(patience))); err != nil {
		text := get[string](b, `location.hash + '\n' + document.body.innerText.slice(0, 3000)`)
		b.t.Fatalf("%s: %v; the page is\n%s", expression, err, text)
	}
}

// get evaluates an expression, and waits for it if it is a promise.
func get[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 2*patience)
	defer cancel()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return out
}

// do runs statements.
func (b *tab) do(statements string) {
	b.t.Helper()
	get[bool](b, "(() => {"+statements+"; return true })()")
}

// visit shows a view.
func (b *tab) visit(hash string) {
	b.t.Helper()
	b.do(fmt.Sprintf("location.hash = %q", hash))
}

// has waits for a text in the part of the page that a selector finds.
func (b *tab) has(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("(document.querySelector(%q)?.innerText ?? '').includes(%q)", selector, text))
}

// click clicks what a selector finds, as a mouse does.
func (b *tab) click(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("!!document.querySelector(%q)", selector))
	b.run(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// look is how the page is looked at.
type look struct {
	width, height int64
	scheme        string
	mobile        bool
}

var (
	dark  = look{1360, 860, "dark", false}
	light = look{1360, 860, "light", false}
	phone = look{390, 780, "dark", true}
)

func (b *tab) look(l look) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: l.height, DeviceScaleFactor: 1, Mobile: l.mobile})
	if err == nil {
		_, err = chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}}})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// picture takes a picture of what is seen, and with the flag keeps it in docs/console.
func (b *tab) picture(name string) {
	b.t.Helper()
	got, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if len(got) == 0 {
		b.t.Errorf("%s: no picture", name)
	}
	if !*pictures {
		return
	}
	small, err := reduced(got)
	if err == nil {
		err = os.WriteFile(filepath.Join("..", "docs", "console", name+".png"), small, 0o644)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// reduced writes a picture with the 255 colours that it has most of, which is a third of
// its size.
func reduced(picture []byte) ([]byte, error) {
	img, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, err
	}
	counts := map[color.RGBA]int{}
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	pal := make(color.Palette, 0, 256)
	for len(pal) < 192 && len(counts) > 0 {
		most := color.RGBA{}
		for c, n := range counts {
			if n > counts[most] {
				most = c
			}
		}
		delete(counts, most)
		pal = append(pal, most)
	}
	for _, c := range palette.WebSafe { // for the edges of letters
		if len(pal) < 256 {
			pal = append(pal, c)
		}
	}
	out := image.NewPaletted(bounds, pal)
	draw.Draw(out, bounds, img, bounds.Min, draw.Src)
	var b bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	err = enc.Encode(&b, out)
	return b.Bytes(), err
}
