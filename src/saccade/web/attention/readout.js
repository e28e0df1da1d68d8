// What is pointed at, in words and numbers, and marked in the two texts.

class Readout {
  constructor(app) {
    this.app = app;
    this.element = byId("readout");
  }

  draw() {
    byId("caption").textContent = this.app.state.view === "grid" ? "" : this.caption();
    this.point();
  }

  caption() {
    const { state, trace, words, heads, numHeads } = this.app, layers = trace.of(state.kind).length;
    const layer = state.layer === null ? words.captionLayers(layers) : words.captionLayer(state.layer + 1, layers);
    const oneHead = heads.length === 1;
    return `${layer} · ${oneHead ? words.captionHead(heads[0] + 1, numHeads) : words.captionHeads(heads.length, numHeads)}`;
  }

  point() {
    const { state, matrix, focus } = this.app, { row, column } = focus;
    if (state.view === "grid" || (row === null && column === null)) this.hint();
    else if (row === null) this.list(this.columnName(column), "→", matrix.column(column), (at) => this.rowName(at));
    else if (column === null) {
      this.list(this.rowName(row), "←", matrix.row(row), (at) => this.columnName(at), this.probability(row));
    } else this.pair(row, column);
    this.markTexts(row, column);
  }

  hint() {
    const { state, words } = this.app;
    this.element.replaceChildren(make("span", "quiet", words[`hint${capital(state.view)}`]));
  }

  rowName(row) {
    return tokenElement(this.app.trace.lookers(this.app.state.kind)[row]);
  }

  columnName(column) {
    const { state, trace, words } = this.app;
    if (state.kind === "memory") return make("span", "", words.slot(column + 1));
    if (state.kind !== "image" || !trace.image) return tokenElement(trace.lookedAt(state.kind)[column]);
    const across = trace.image.columns;
    return make("span", "", words.cell(Math.floor(column / across) + 1, (column % across) + 1));
  }

  probability(row) {
    const { trace, state, words } = this.app, logProb = state.kind === "encoder" ? null : trace.logProbs?.[row];
    return logProb == null ? [] : [make("span", "quiet", ` ${words.probability} ${Math.exp(logProb).toFixed(3)}`)];
  }

  pair(row, column) {
    const weight = make("strong", "number", this.app.matrix.at(row, column).toFixed(4));
    this.element.replaceChildren(this.rowName(row), " ← ", this.columnName(column), " ", weight);
  }

  list(name, arrow, weights, nameOf, more = []) {
    const found = strongest(weights, 3).flatMap((at) => {
      return [nameOf(at), " ", make("strong", "number", weights[at].toFixed(4)), "  "];
    });
    this.element.replaceChildren(name, ` ${arrow} `, ...found, ...more);
  }

  markTexts(row, column) {
    const { controls, sides } = this.app;
    for (const element of document.querySelectorAll(".at.on")) element.classList.remove("on");
    if (row !== null) this.mark(controls.pieces[sides.rows]?.get(row));
    if (column !== null) this.mark(controls.pieces[sides.columns]?.get(column));
  }

  /** A long text scrolls to what is marked in it. */
  mark(piece) {
    if (!piece) return;
    piece.classList.add("on");
    const text = piece.parentElement;
    if (text.scrollHeight <= text.clientHeight + 2) return;
    const line = parseFloat(getComputedStyle(text).lineHeight);
    text.scrollTop = line * (Math.round((piece.offsetTop - text.offsetTop) / line) - 1);
  }
}
