// What is chosen with: tabs, sliders, toggles, the player. Native elements: keyboards and screen readers know them.

const byId = (id) => document.getElementById(id);
const STEP_TIME = 750;

/** Radio buttons that look like tabs; arrow keys move between them. */
function tabs(fieldset, name, options, chosen, choose) {
  const labels = options.map(([value, text]) => {
    const label = make("label"), input = make("input");
    input.type = "radio";
    input.name = name;
    input.value = value;
    input.checked = value === chosen;
    input.addEventListener("change", () => choose(value));
    label.append(input, make("span", "", text));
    return label;
  });
  const focused = fieldset.contains(document.activeElement);
  fieldset.replaceChildren(fieldset.querySelector("legend"), ...labels);
  fieldset.hidden = options.length < 2;
  if (focused) fieldset.querySelector("input:checked")?.focus();
}

class Controls {
  constructor(app) {
    this.app = app;
    this.timer = null;
    const on = (id, name, act) => byId(id).addEventListener(name, act);
    on("language", "click", () => app.change({ language: app.state.language === "en" ? "zh" : "en" }));
    on("theme", "click", () => app.change({ dark: !app.state.dark }));
    on("layer", "input", (event) => app.change({ layer: event.target.value === "0" ? null : event.target.value - 1 }));
    on("threshold", "input", (event) => app.change({ threshold: Number(event.target.value) }));
    on("all-heads", "click", () => app.change({ heads: null }));
    on("step", "input", (event) => this.goTo(Number(event.target.value) - 1));
    on("back", "click", () => this.goTo((app.state.step ?? app.numSteps) - 1));
    on("forward", "click", () => this.goTo((app.state.step ?? -1) + 1));
    on("play", "click", () => (app.state.playing ? app.change({ playing: false }) : this.play()));
    on("whole", "click", () => app.change({ step: null, playing: false }));
    on("zoom-in", "click", () => this.scale((zoom) => zoom * 1.6));
    on("zoom-out", "click", () => this.scale((zoom) => zoom / 1.6));
    on("zoom-fit", "click", () => this.scale(() => 1));
  }

  scale(change) {
    const { view } = this.app;
    view.scaleTo(change(view.zoom));
    this.drawFoot();
  }

  goTo(step) {
    const first = this.app.state.view === "image" ? 0 : -1;
    const at = Math.max(first, Math.min(this.app.numSteps - 1, step));
    this.app.change({ step: at < 0 ? null : at, playing: false, point: null });
  }

  play() {
    const { app } = this, start = app.state.step === null || app.state.step >= app.numSteps - 1 ? 0 : app.state.step;
    app.change({ step: start, playing: true, point: null, pin: null });
    this.tick();
  }

  tick() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const { app } = this, next = (app.state.step ?? 0) + 1;
      if (!app.state.playing) return;
      app.change(next < app.numSteps ? { step: next } : { playing: false });
      this.tick();
    }, STEP_TIME);
  }

  draw() {
    const { app } = this, { state, trace, words } = app;
    this.translate();
    const named = (names, what) => names.map((name) => [name, words[`${what}${capital(name)}`]]);
    tabs(byId("views"), "view", named(app.views, "view"), state.view, (view) => app.change({ view }));
    tabs(byId("kinds"), "kind", named(trace.kinds, "kind"), state.kind, (kind) => app.choose({ kind }));
    this.drawTexts();
    this.drawLayer();
    this.drawHeads();
    byId("threshold-field").hidden = state.view !== "lines";
    byId("threshold").value = state.threshold;
    byId("threshold-value").textContent = state.threshold.toFixed(2);
    byId("player").hidden = state.view === "grid";
    document.querySelector("main").classList.toggle("wide", state.view === "grid");
    this.drawStep();
    this.drawFoot();
  }

  translate() {
    const { words, state } = this.app;
    document.documentElement.lang = state.language === "zh" ? "zh-CN" : "en";
    for (const element of document.querySelectorAll("[data-say]")) element.textContent = words[element.dataset.say];
    for (const element of document.querySelectorAll("[data-label]")) {
      element.setAttribute("aria-label", words[element.dataset.label]);
      if (element.tagName === "BUTTON") element.title = words[element.dataset.label];
    }
    byId("language").textContent = words.other;
    byId("language").setAttribute("aria-label", words.otherName);
    byId("language").lang = state.language === "zh" ? "en" : "zh-CN";
    byId("title").textContent = this.app.title || words.attention;
  }

  drawTexts() {
    const { app } = this, { trace, state, words } = app, drawn = [state.trace, state.language].join();
    if (this.drawnTexts === drawn) return;
    this.drawnTexts = drawn;
    byId("model").textContent = trace.model;
    byId("source-text").hidden = !trace.source.tokens.length;
    const source = textPieces(trace.source);
    byId("source").replaceChildren(source.fragment);
    this.pieces = { source: source.pieces };
    const focused = byId("hypotheses").contains(document.activeElement);
    byId("hypotheses").replaceChildren(...app.traces.map((each, at) => {
      const { fragment, pieces } = textPieces(each.target), text = make("p");
      text.dir = "auto";
      text.append(fragment);
      if (at === state.trace) this.pieces.target = pieces;
      if (app.traces.length === 1) return text;
      const row = make("label", "hypothesis"), input = make("input");
      input.type = "radio";
      input.name = "hypothesis";
      input.value = at;
      input.checked = at === state.trace;
      input.setAttribute("aria-label", `${words.hypothesis} ${at + 1}: ${each.target.text}`);
      input.addEventListener("change", () => app.choose({ trace: at }));
      const score = make("span", "quiet number", each.score === null ? "" : each.score.toFixed(3).replace("-", "−"));
      score.title = words.score;
      row.append(input, make("span", "quiet number", String(at + 1)), text, score);
      return row;
    }));
    if (focused) byId("hypotheses").querySelector("input:checked")?.focus();
  }

  drawLayer() {
    const { state, trace, words } = this.app, count = trace.of(state.kind).length;
    const at = state.layer === null ? 0 : state.layer + 1;
    const said = at ? words.layerOf(at, count) : words.allLayers(count);
    byId("layer-field").hidden = count < 2 || state.view === "grid";
    byId("layer").max = count;
    byId("layer").value = at;
    byId("layer").setAttribute("aria-valuetext", said);
    byId("layer-value").textContent = said;
  }

  drawHeads() {
    const { app } = this, { numHeads, heads, words, colours } = app;
    byId("heads-field").hidden = numHeads < 2 || app.state.view === "grid";
    byId("all-heads").hidden = heads.length === numHeads;
    byId("heads").classList.toggle("coloured", app.state.view === "lines");
    const focused = byId("heads").contains(document.activeElement) ? document.activeElement.dataset.head : null;
    byId("heads").replaceChildren(...Array.from({ length: numHeads }, (_, head) => {
      const button = make("button", "head", String(head + 1));
      button.type = "button";
      button.dataset.head = head;
      button.setAttribute("aria-pressed", String(heads.includes(head)));
      button.setAttribute("aria-label", words.head(head + 1));
      if (app.state.view === "lines") button.style.setProperty("--head", headColour(colours, head));
      button.addEventListener("click", ({ detail }) => (detail > 1 ? app.change({ heads: [head] }) : app.toggle(head)));
      return button;
    }));
    if (focused !== null) byId("heads").querySelector(`[data-head="${focused}"]`)?.focus();
  }

  drawStep() {
    const { state, words, numSteps, trace } = this.app, at = state.step === null ? 0 : state.step + 1;
    const said = at ? words.stepOf(at, numSteps) : words.wholeValue;
    byId("step").min = state.view === "image" ? 1 : 0;
    byId("step").max = numSteps;
    byId("step").value = at;
    byId("step").setAttribute("aria-valuetext", at ? `${said}: ${label(trace.lookers(state.kind)[state.step])}` : said);
    byId("step-value").textContent = said;
    byId("whole").hidden = state.step === null || state.view === "image";
    byId("play").classList.toggle("on", state.playing);
    byId("play").title = state.playing ? words.pause : words.play;
    byId("play").setAttribute("aria-label", byId("play").title);
  }

  drawFoot() {
    const { state, matrix, view, colours } = this.app, isMatrix = state.view === "matrix";
    byId("foot").hidden = !isMatrix;
    byId("scale").querySelector("i").style.background = scaleGradient(colours);
    byId("largest").textContent = matrix.largest.toFixed(2);
    byId("zoom").hidden = !(isMatrix && view.canGrow);
    if (isMatrix) byId("zoom-out").disabled = byId("zoom-fit").disabled = view.zoom <= 1;
  }
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
