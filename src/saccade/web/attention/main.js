// The page: one state, changed in one place, and what is drawn when it changes.

const SIDES = {
  cross: ["target", "source"], encoder: ["source", "source"], decoder: ["target", "target"],
  image: ["target", "image"], memory: ["target", "memory"],
};
const LIGHT_CHANGES = new Set(["point", "pin", "step", "playing"]);

class App {
  constructor(traces, title) {
    this.traces = traces;
    this.title = title;
    const dark = matchMedia("(prefers-color-scheme: dark)");
    this.state = {
      trace: 0, kind: traces[0].main, view: null, layer: null, heads: null, threshold: 0.1,
      point: null, pin: null, step: null, playing: false,
      language: navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en", dark: dark.matches,
    };
    dark.addEventListener("change", () => this.change({ dark: dark.matches }));
    const kinds = { matrix: MatrixView, lines: LinesView, grid: GridView, image: ImageView };
    this.all = Object.fromEntries(Object.entries(kinds).map(([name, View]) => [name, new View(this)]));
    this.controls = new Controls(this);
    this.readout = new Readout(this);
    this.choose({ kind: this.state.kind });
    new ResizeObserver(([entry]) => this.fit(entry.contentRect.width)).observe(byId("stage"));
  }

  get trace() { return this.traces[this.state.trace]; }
  get words() { return WORDS[this.state.language]; }
  get view() { return this.all[this.state.view]; }
  get numSteps() { return this.trace.lookers(this.state.kind).length; }
  get numHeads() { return this.trace.numHeads(this.state.kind, this.state.layer); }

  /** The chosen heads, in order; all of them unless some were chosen. */
  get heads() {
    const some = this.state.heads?.filter((head) => head < this.numHeads);
    return some?.length ? some : Array.from({ length: this.numHeads }, (_, head) => head);
  }

  get views() {
    const layers = this.trace.of(this.state.kind), isAlone = layers.length === 1 && layers[0].heads === 1;
    const drawn = this.state.kind !== "image" ? ["matrix", "lines"] : this.trace.image ? ["image", "matrix"] : ["matrix"];
    return isAlone ? drawn : [...drawn, "grid"];
  }

  get matrix() {
    const { trace, kind, layer } = this.state, key = [trace, kind, layer, ...this.heads].join();
    if (this.matrixKey !== key) {
      this.matrixKey = key;
      this.matrixFound = this.trace.matrix(kind, layer, this.heads);
    }
    return this.matrixFound;
  }

  /** How wide a view may be. */
  get room() {
    const stage = byId("stage"), { paddingLeft, paddingRight } = getComputedStyle(stage);
    return stage.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  }

  /** What rows and columns are. */
  get sides() {
    const [rows, columns] = SIDES[this.state.kind];
    return { rows, columns };
  }

  /** What is pointed at; what is kept, or the step, stands in for what is not. */
  get focus() {
    const { point, pin, step } = this.state, kept = step === null ? pin : { row: step, column: null };
    return { row: point?.row ?? kept?.row ?? null, column: point?.column ?? kept?.column ?? null };
  }

  /** While stepping, later rows are not there yet. */
  get limit() { return this.state.step; }

  /** Change the state, and draw no more than that asks for. */
  change(changes) {
    const changed = Object.keys(changes).filter((name) => !same(changes[name], this.state[name]));
    if (!changed.length) return;
    Object.assign(this.state, changes);
    if (this.state.view === "image" && this.state.step === null) this.state.step = 0;
    if (!changed.every((name) => LIGHT_CHANGES.has(name))) return this.draw();
    if (changed.includes("step") || changed.includes("playing")) {
      this.controls.drawStep();
      (this.view.step ?? this.view.point).call(this.view);
    } else this.view.point();
    this.readout.point();
  }

  /** Another hypothesis or kind of attention: what does not fit it any more is given up. */
  choose(changes) {
    const state = Object.assign(this.state, changes, { point: null, pin: null, step: null, playing: false });
    if (!this.trace.kinds.includes(state.kind)) state.kind = this.trace.main;
    const count = this.trace.of(state.kind).length;
    if (state.layer !== null && state.layer >= count) state.layer = null;
    // Reading and writing have no mean worth looking at.
    if (count === 1 || (state.kind === "memory" && state.layer === null)) state.layer = 0;
    if (!this.views.includes(state.view)) state.view = this.views[0];
    this.draw();
  }

  draw() {
    const { state, view } = this;
    if (state.view === "image" && state.step === null) state.step = 0;
    document.documentElement.dataset.theme = state.dark ? "dark" : "light";
    this.colours = readColours(state.dark);
    const stage = byId("stage");
    if (stage.firstChild !== view.element) stage.replaceChildren(view.element);
    if (!this.trace.of(state.kind).every((layer) => layer.isHere)) return this.wait();
    this.controls.draw();
    view.draw();
    this.controls.drawFoot();
    this.readout.draw();
    this.width = stage.clientWidth;
  }

  /** The weights asked for are still being loaded. */
  wait() {
    document.addEventListener("DOMContentLoaded", () => this.draw(), { once: true });
  }

  /** The window has another width. */
  fit(width) {
    if (Math.abs(width - this.width) >= 1) this.draw();
  }

  toggle(head) {
    const others = this.heads.filter((each) => each !== head);
    const heads = others.length < this.heads.length ? others : [...others, head].sort((a, b) => a - b);
    this.change({ heads: heads.length && heads.length < this.numHeads ? heads : null });
  }

  /** Keep what is pointed at, or let it go if it was kept. */
  pin(point) {
    this.change({ pin: same(point, this.state.pin) ? null : point, step: null, playing: false });
  }

  /** A mouse that leaves points at nothing; a finger that was lifted still does. */
  leave(event) {
    if (event.pointerType === "mouse") this.change({ point: null });
  }

  isPinned(name, at) { return this.state.pin?.[name] === at; }

  /** Look closely at one head. */
  open(layer, head) {
    this.change({ view: this.views[0], layer, heads: [head] });
    byId("stage").firstChild.focus({ preventScroll: true });
  }

  say(text) {
    if (text === null) this.readout.hint();
    else byId("readout").textContent = text;
  }
}

function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

document.documentElement.classList.toggle("framed", window !== window.parent);
const tables = JSON.parse(byId("data").textContent);
new App(tables.traces.map((table) => new Trace(table)), tables.title);
document.documentElement.dataset.ready = "";
