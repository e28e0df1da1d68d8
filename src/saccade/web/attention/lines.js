// The line view: what is looked at on the left, who looks on the right; a line for each weight in its head's colour.

const MOST_LINES = 12000, SHADES = 12, FAINTEST = 0.002;

class LinesView {
  constructor(app) {
    this.app = app;
    this.element = make("div", "lines");
    this.sheet = make("div", "sheet");
    this.left = make("ol", "side-tokens left");
    this.right = make("ol", "side-tokens right");
    this.gap = make("div", "gap");
    this.canvas = make("canvas");
    this.gap.append(this.canvas);
    this.headings = make("div", "headings");
    this.leftHeading = make("span");
    this.rightHeading = make("span");
    this.headings.append(this.leftHeading, this.rightHeading);
    this.sheet.append(this.left, this.gap, this.right);
    this.scroller = make("div", "scroller");
    this.scroller.append(this.sheet);
    this.element.append(this.headings, this.scroller);
    this.scroller.addEventListener("scroll", () => this.paint());
    for (const side of [this.left, this.right]) this.listen(side);
  }

  listen(side) {
    const found = (event) => {
      const button = event.target.closest("button");
      if (!button) return null;
      const at = Number(button.dataset.at);
      return side === this.right ? { row: at, column: null } : { row: null, column: at };
    };
    side.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse") this.app.change({ point: found(event) });
    });
    side.addEventListener("pointerleave", (event) => this.app.leave(event));
    side.addEventListener("focusin", (event) => {
      for (const each of side.querySelectorAll("[tabindex='0']")) each.tabIndex = -1;
      event.target.tabIndex = 0;
      if (event.target.matches(":focus-visible")) this.app.change({ point: found(event) });
    });
    side.addEventListener("focusout", () => this.app.change({ point: null }));
    side.addEventListener("click", (event) => this.app.pin(found(event)));
    side.addEventListener("keydown", (event) => this.key(event, side));
  }

  key(event, side) {
    const at = Number(event.target.dataset.at), buttons = side.querySelectorAll("button");
    const other = side === this.left ? this.right : this.left;
    const beside = other.querySelectorAll("button");
    const next = {
      ArrowUp: buttons[at - 1], ArrowDown: buttons[at + 1], Home: buttons[0], End: buttons[buttons.length - 1],
      ArrowLeft: side === this.right ? beside[Math.min(at, beside.length - 1)] : null,
      ArrowRight: side === this.left ? beside[Math.min(at, beside.length - 1)] : null,
    }[event.key];
    if (event.key === "Escape") this.app.change({ point: null, pin: null });
    if (next === undefined) return;
    event.preventDefault();
    if (next) next.focus();
  }

  draw() {
    const { app } = this, { kind } = app.state;
    const lookers = app.trace.lookers(kind), lookedAt = app.trace.lookedAt(kind);
    this.rowHeight = Math.max(lookers.length, lookedAt.length) > 60 ? 24 : 30;
    this.sheet.style.setProperty("--row", `${this.rowHeight}px`);
    const shown = [app.state.trace, kind].join();
    if (shown !== this.shown) {
      this.fill(this.left, lookedAt);
      this.fill(this.right, lookers);
      this.scroller.scrollTop = 0;
    }
    this.shown = shown;
    const { rows, columns } = app.sides, same = rows === columns;
    this.leftHeading.textContent = same ? app.words.lookedAt : app.words[columns];
    this.rightHeading.textContent = same ? app.words.looks : app.words[rows];
    this.left.setAttribute("aria-label", this.leftHeading.textContent);
    this.right.setAttribute("aria-label", this.rightHeading.textContent);
    const most = Math.max(lookers.length, lookedAt.length);
    this.offsets = [(most - lookedAt.length) / 2, (most - lookers.length) / 2].map((rows) => rows * this.rowHeight);
    this.left.style.paddingTop = `${this.offsets[0]}px`;
    this.right.style.paddingTop = `${this.offsets[1]}px`;
    this.scroller.style.height = `${Math.min(most * this.rowHeight + 4, tallest(0.68, 820))}px`;
    this.leftHeading.style.width = `${this.left.clientWidth}px`;
    this.rightHeading.style.width = `${this.right.clientWidth}px`;
    this.width = this.gap.clientWidth;
    this.height = this.scroller.clientHeight;
    resize(this.canvas, this.width, this.height);
    this.lines = this.collect();
    this.paint();
    this.tint();
  }

  fill(side, tokens) {
    side.replaceChildren(...tokens.map((token, at) => {
      const item = make("li"), button = make("button", "token");
      button.type = "button";
      button.tabIndex = at ? -1 : 0;
      button.dataset.at = at;
      button.append(tokenElement(token), make("span", "weight"));
      item.append(button);
      return item;
    }));
  }

  /** Every weight of a chosen head that is not below the threshold: [row, column, head, weight], strongest last. */
  collect() {
    const { trace, state } = this.app, found = [];
    for (const head of this.app.heads) {
      const { values, columns } = trace.matrix(state.kind, state.layer, [head]);
      for (let at = 0; at < values.length; at++) {
        const weight = values[at];
        if (weight < state.threshold || weight < FAINTEST) continue;
        found.push([Math.floor(at / columns), at % columns, head, weight]);
      }
    }
    found.sort((a, b) => a[3] - b[3]);
    return found.slice(-MOST_LINES); // more could not be told apart
  }

  point() {
    this.paint();
    this.tint();
  }

  /** The token whose step it is stays in sight. */
  step() {
    this.point();
    const { step } = this.app.state, { scroller } = this, top = this.offsets[1] + step * this.rowHeight;
    const isSeen = top >= scroller.scrollTop && top + this.rowHeight <= scroller.scrollTop + this.height;
    if (step !== null && !isSeen) scroller.scrollTop = top - this.height / 2;
  }

  paint() {
    const context = this.canvas.getContext("2d"), { row, column } = this.app.focus, top = this.scroller.scrollTop;
    context.clearRect(0, 0, this.width, this.height);
    const isolated = row !== null || column !== null, paths = new Map(), largest = this.lines.at(-1)?.[3];
    for (const [looks, looked, head, weight] of this.lines) {
      if ((row !== null && row !== looks) || (column !== null && column !== looked)) continue;
      if (this.app.limit !== null && looks > this.app.limit) continue;
      const from = this.offsets[0] + (looked + 0.5) * this.rowHeight - top;
      const to = this.offsets[1] + (looks + 0.5) * this.rowHeight - top;
      if (Math.max(from, to) < -this.rowHeight || Math.min(from, to) > this.height + this.rowHeight) continue;
      const key = head * SHADES + Math.min(SHADES - 1, Math.floor((weight / largest) * SHADES));
      if (!paths.has(key)) paths.set(key, new Path2D());
      const shift = (head - (this.app.numHeads - 1) / 2) * Math.min(2, 14 / this.app.numHeads);
      const path = paths.get(key), middle = this.width / 2;
      path.moveTo(2, from + shift);
      path.bezierCurveTo(middle, from + shift, middle, to + shift, this.width - 2, to + shift);
    }
    context.lineCap = "round";
    for (const [key, path] of [...paths].sort((a, b) => (a[0] % SHADES) - (b[0] % SHADES))) {
      const strength = (key % SHADES) / (SHADES - 1);
      context.strokeStyle = headColour(this.app.colours, Math.floor(key / SHADES));
      context.globalAlpha = (isolated ? 0.3 : 0.1) + (isolated ? 0.65 : 0.8) * strength ** 1.3;
      context.lineWidth = 1 + 1.4 * strength;
      context.stroke(path);
    }
    context.globalAlpha = 1;
  }

  /** Colour the tokens at the other end of what is pointed at, and write their weights. */
  tint() {
    const { row, column } = this.app.focus, { matrix, limit } = this.app;
    const left = row === null ? null : matrix.row(row), right = column === null ? null : matrix.column(column);
    this.mark(this.left, column, left, row !== null && column !== null ? column : null);
    this.mark(this.right, row, row === null ? right : null, null, limit);
  }

  mark(side, chosen, weights, only, limit = null) {
    side.querySelectorAll("button").forEach((button, at) => {
      const weight = weights && (only === null || only === at) ? weights[at] : 0, strong = weight >= 0.01;
      const looks = ["token"];
      if (at === chosen) looks.push("chosen");
      else if (weights && !strong) looks.push("faded");
      if (limit !== null && at > limit) looks.push("later");
      const pinned = this.app.isPinned(side === this.right ? "row" : "column", at);
      this.dress(button, looks.join(" "), strong ? weight.toFixed(2) : "", String(pinned));
    });
  }

  /** Touch a token only if it changes: there may be hundreds, and the pointer does not wait. */
  dress(button, looks, weight, pressed) {
    if (button.className !== looks) button.className = looks;
    if (button.getAttribute("aria-pressed") !== pressed) button.setAttribute("aria-pressed", pressed);
    if (button.lastChild.textContent === weight) return;
    button.style.setProperty("--strength", `${100 * Math.min(1, weight)}%`);
    button.lastChild.textContent = weight;
  }
}
