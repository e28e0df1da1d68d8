// All layers × heads as small pictures to choose from, drawn one after the other, so that the page never waits.

class GridView {
  constructor(app) {
    this.app = app;
    this.element = make("div", "grid scroller");
    this.table = make("div", "thumbs");
    this.element.append(this.table);
    this.element.addEventListener("pointerover", (event) => this.note(event));
    this.element.addEventListener("focusin", (event) => this.note(event));
    this.element.addEventListener("pointerleave", () => this.app.say(null));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  draw() {
    const { app } = this, { state, trace, words } = app;
    const layers = trace.of(state.kind), most = Math.max(...layers.map((layer) => layer.heads));
    const { rows, columns } = layers[0], shape = Math.max(0.55, Math.min(1.8, columns / rows));
    this.table.style.setProperty("--heads", most);
    this.table.style.setProperty("--shape", shape);
    this.table.classList.toggle("fine", columns > 90 || rows > 90);
    this.across = most;
    this.buttons = [];
    this.waiting = [];
    const corner = make("span"), cells = [corner];
    for (let head = 0; head < most; head++) cells.push(make("span", "heading", String(head + 1)));
    layers.forEach((layer, at) => {
      cells.push(make("span", "heading row", String(at + 1)));
      for (let head = 0; head < most; head++) {
        cells.push(head < layer.heads ? this.thumb(layer, at, head) : make("span"));
      }
    });
    corner.className = "corner";
    corner.append(make("span", "", `${words.heads} →`), make("span", "", `${words.layer} ↓`));
    this.table.replaceChildren(...cells);
    const first = this.buttons.find((button) => button.getAttribute("aria-current") === "true") ?? this.buttons[0];
    first.tabIndex = 0;
    this.work();
  }

  thumb(layer, at, head) {
    const { app } = this, button = make("button", "thumb"), canvas = make("canvas");
    button.type = "button";
    button.tabIndex = -1;
    button.dataset.layer = at;
    button.dataset.head = head;
    button.setAttribute("aria-label", `${app.words.layerName(at + 1)}, ${app.words.head(head + 1)}`);
    const chosen = app.state.layer === at && app.heads.length === 1 && app.heads[0] === head;
    button.setAttribute("aria-current", String(chosen));
    button.append(canvas);
    button.addEventListener("click", () => app.open(at, head));
    this.buttons.push(button);
    this.waiting.push(() => bitmap(new Matrix(layer.rows, layer.columns, layer.head(head)), app.colours, canvas));
    return button;
  }

  work() {
    const waiting = this.waiting, until = performance.now() + 12;
    while (waiting.length && performance.now() < until) waiting.shift()();
    if (waiting.length && waiting === this.waiting) requestAnimationFrame(() => this.work());
  }

  note(event) {
    const button = event.target.closest(".thumb");
    this.app.say(button ? button.getAttribute("aria-label") : null);
  }

  key(event) {
    const at = this.buttons.indexOf(event.target);
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.across, ArrowDown: this.across }[event.key];
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    const next = this.buttons[at + step];
    if (!next) return;
    event.target.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }

  point() {}
}
