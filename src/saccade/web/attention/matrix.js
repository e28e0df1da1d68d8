// The matrix: who looks down the side, what is looked at across the top. Only what is seen is drawn, on two canvases
// above each other: the weights, and what is pointed at.

const LEAST_CELL = 1, LEAST_LABELLED = 10, LEAST_SLANTED = 19, LARGEST_CELL = 38; // pixels
const LONGEST_LABEL = 116, SLANT = Math.SQRT1_2;

class MatrixView {
  constructor(app) {
    this.app = app;
    this.zoom = 1;
    this.element = make("div", "matrix scroller");
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "application");
    this.sheet = make("div", "sheet");
    this.pane = make("div", "pane");
    this.base = make("canvas");
    this.overlay = make("canvas");
    this.pane.append(this.base, this.overlay);
    this.sheet.append(this.pane);
    this.element.append(this.sheet);
    this.listen();
  }

  listen() {
    this.element.addEventListener("scroll", () => this.paint());
    this.element.addEventListener("pointermove", (event) => this.app.change({ point: this.find(event) }));
    this.element.addEventListener("pointerleave", (event) => this.app.leave(event));
    this.element.addEventListener("click", (event) => this.app.pin(this.find(event)));
    this.element.addEventListener("keydown", (event) => this.key(event));
  }

  /** Lay out and draw everything anew. */
  draw() {
    const { app } = this;
    this.matrix = app.matrix;
    this.rowTokens = app.trace.lookers(app.state.kind);
    this.columnTokens = app.trace.lookedAt(app.state.kind);
    this.element.setAttribute("aria-label", app.words.matrixLabel);
    this.picture = bitmap(this.matrix, app.colours);
    this.measure();
    this.paint();
  }

  measure() {
    const { rows, columns } = this.matrix;
    const context = this.base.getContext("2d");
    context.font = `13px ${FONT}`;
    const letters = new Lettering(context, this.app.colours);
    const longest = (tokens) => Math.min(this.room, Math.max(...tokens.map((token) => letters.width(token))));
    const width = this.app.room, height = tallest(0.72, 860);
    this.left = Math.max(longest(this.rowTokens) + 14, 76);
    const across = longest(this.columnTokens);

    const fitting = (top, right) => {
      const cell = Math.min(LARGEST_CELL, (width - this.left - right) / columns, (height - top - 8) / rows);
      return cell < 6 ? Math.max(LEAST_CELL, cell) : Math.floor(cell);
    };
    const slanted = Math.max(SLANT * (across + 13) + 12, 44), upright = Math.max(across + 16, 44);
    this.fitted = fitting(slanted, slanted - 22);
    if (this.fitted < LEAST_SLANTED) this.fitted = fitting(upright, 12);
    if (this.fitted < LEAST_LABELLED) this.fitted = Math.min(LEAST_LABELLED - 1, fitting(44, 12));
    this.cell = Math.max(this.fitted, Math.min(LARGEST_CELL, this.fitted * this.zoom));
    this.level = !this.labelled || across + 6 <= this.cell;
    this.slanted = !this.level && fitting(slanted, slanted - 22) >= LEAST_SLANTED;
    this.top = this.level ? 44 : this.slanted ? slanted : upright;
    const right = this.slanted ? slanted - 22 : 12;
    const spare = Math.max(0, width - this.left - right - this.cell * columns);
    this.left += Math.floor(spare / 2.6);
    this.sheet.style.width = `${this.left + this.cell * columns + right}px`;
    this.sheet.style.height = `${this.top + this.cell * rows + 8}px`;
    this.element.style.height = `${Math.min(height, this.top + this.cell * rows + 8)}px`;
    this.width = this.element.clientWidth;
    this.height = this.element.clientHeight;
    for (const canvas of [this.base, this.overlay]) resize(canvas, this.width, this.height);
    this.pane.style.width = `${this.width}px`;
    this.pane.style.height = `${this.height}px`;
  }

  get room() {
    return window.innerWidth < 600 ? 76 : LONGEST_LABEL;
  }

  get labelled() {
    return this.cell >= LEAST_LABELLED;
  }

  x(column) {
    return this.left + this.cell * column - this.element.scrollLeft;
  }

  y(row) {
    return this.top + this.cell * row - this.element.scrollTop;
  }

  /** Which rows or columns are seen, wholly or in part. */
  seen(count, scrolled, room) {
    const first = Math.max(0, Math.floor(scrolled / this.cell));
    return [first, Math.min(count, Math.ceil((scrolled + room) / this.cell) + 1)];
  }

  paint() {
    const context = this.base.getContext("2d");
    context.clearRect(0, 0, this.width, this.height);
    context.save();
    context.beginPath();
    context.rect(this.left, this.top, this.width - this.left, this.height - this.top);
    context.clip();
    if (this.cell >= 8) this.paintCells(context);
    else this.paintPicture(context);
    context.restore();
    this.paintLabels(context);
    this.point();
  }

  paintPicture(context) {
    const last = this.app.limit ?? this.matrix.rows - 1;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, 0, 0, this.matrix.columns, last + 1,
      this.x(0), this.y(0), this.cell * this.matrix.columns, this.cell * (last + 1));
  }

  paintCells(context) {
    const { matrix, cell } = this, { colours } = this.app, gap = cell >= 14 ? 2 : 1;
    const [firstRow, endRow] = this.seen(matrix.rows, this.element.scrollTop, this.height - this.top);
    const [firstColumn, endColumn] = this.seen(matrix.columns, this.element.scrollLeft, this.width - this.left);
    const limit = this.app.limit ?? matrix.rows;
    for (let row = firstRow; row < endRow; row++) {
      for (let column = firstColumn; column < endColumn; column++) {
        const colour = shade(colours, row > limit ? 0 : matrix.at(row, column), matrix.largest);
        const x = this.x(column) + gap / 2, y = this.y(row) + gap / 2;
        context.fillStyle = `rgb(${colour.join(" ")})`;
        context.beginPath();
        context.roundRect(x, y, cell - gap, cell - gap, Math.min(4, cell / 7));
        context.fill();
      }
    }
  }

  paintLabels(context) {
    const { colours } = this.app;
    this.heading(context);
    if (!this.labelled) return this.paintNumbers(context);
    const letters = this.lettering(context);
    const [firstRow, endRow] = this.seen(this.matrix.rows, this.element.scrollTop, this.height - this.top);
    const [firstColumn, endColumn] = this.seen(this.matrix.columns, this.element.scrollLeft, this.width - this.left);
    const limit = this.app.limit ?? this.matrix.rows, rowColour = (row) => (row > limit ? colours.mark : colours.text);
    this.within(context, 0, this.top, this.left, this.height, () => {
      for (let row = firstRow; row < endRow; row++) this.rowLabel(letters, row, rowColour(row));
    });
    this.within(context, this.left - 4, 0, this.width, this.top, () => {
      for (let column = firstColumn; column < endColumn; column++) this.columnLabel(letters, column, colours.text);
    });
  }

  /** Where cells are too small for tokens, their numbers. */
  paintNumbers(context) {
    const every = [10, 20, 50, 100, 200, 500].find((step) => step * this.cell >= 44) ?? 1000;
    context.fillStyle = this.app.colours.quiet;
    context.font = `11px ${FONT}`;
    context.direction = "ltr";
    context.textBaseline = "middle";
    for (let row = every; row <= this.matrix.rows; row += every) {
      context.textAlign = "right";
      if (this.y(row - 1) >= this.top) context.fillText(row, this.left - 8, this.y(row - 0.5));
    }
    for (let column = every; column <= this.matrix.columns; column += every) {
      context.textAlign = "center";
      if (this.x(column - 1) >= this.left) context.fillText(column, this.x(column - 0.5), this.top - 10);
    }
  }

  heading(context) {
    const { words, colours, sides } = this.app, last = this.left - 10;
    context.font = `11px ${FONT}`;
    context.fillStyle = colours.quiet;
    context.direction = "ltr";
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillText(`${words[sides.columns]} →`, last, this.top - 25);
    context.fillText(`${words[sides.rows]} ↓`, last, this.top - 9);
  }

  lettering(context) {
    context.font = `${this.labelled ? Math.min(13, this.cell) : 13}px ${FONT}`;
    return new Lettering(context, this.app.colours);
  }

  rowLabel(letters, row, colour) {
    letters.draw(this.rowTokens[row], this.left - 9, this.y(row) + this.cell / 2, this.room, "end", colour);
  }

  columnLabel(letters, column, colour) {
    const { context } = letters, x = this.x(column) + this.cell / 2;
    if (this.level) return letters.draw(this.columnTokens[column], x, this.top - 14, this.room, "center", colour);
    context.save();
    context.translate(x + (this.slanted ? 1 : 0), this.top - 9);
    context.rotate(this.slanted ? -Math.PI / 4 : -Math.PI / 2);
    letters.draw(this.columnTokens[column], 0, 0, this.room, "start", colour);
    context.restore();
  }

  within(context, left, top, right, bottom, draw) {
    context.save();
    context.beginPath();
    context.rect(left, top, right - left, bottom - top);
    context.clip();
    draw();
    context.restore();
  }

  step() {
    this.paint();
    if (this.app.state.step !== null) this.reveal({ row: this.app.state.step, column: null });
  }

  /** Draw what is pointed at: its row and column stay bright. */
  point() {
    const context = this.overlay.getContext("2d"), { row, column } = this.app.focus;
    context.clearRect(0, 0, this.width, this.height);
    if (row === null && column === null) return;
    this.veil(context, row, column);
    if (row !== null && column !== null) this.frame(context, row, column);
    const letters = this.lettering(context);
    if (row !== null) this.strongLabel(context, letters, row, null);
    if (column !== null) this.strongLabel(context, letters, null, column);
  }

  veil(context, row, column) {
    const { cell } = this, right = Math.min(this.width, this.x(this.matrix.columns));
    const bottom = Math.min(this.height, this.y(this.matrix.rows));
    context.save();
    context.beginPath();
    context.rect(0, 0, this.width, this.height);
    if (row !== null) context.rect(0, this.y(row), right, cell);
    if (column !== null) {
      const x = this.x(column);
      if (row === null) context.rect(x, this.top, cell, bottom - this.top);
      else {
        context.rect(x, this.top, cell, Math.max(0, this.y(row) - this.top));
        context.rect(x, this.y(row) + cell, cell, Math.max(0, bottom - this.y(row) - cell));
      }
    }
    context.globalAlpha = 0.62;
    context.fillStyle = this.app.colours.card;
    context.fill("evenodd");
    context.restore();
  }

  frame(context, row, column) {
    this.within(context, this.left - 2, this.top - 2, this.width, this.height, () => {
      context.strokeStyle = this.app.colours.text;
      context.lineWidth = this.cell < 8 ? 1 : 1.5;
      const out = this.cell < 8 ? 1.5 : 0, size = this.cell + 2 * out;
      context.beginPath();
      context.roundRect(this.x(column) - out, this.y(row) - out, size, size, Math.min(5, this.cell / 5));
      context.stroke();
    });
  }

  strongLabel(context, letters, row, column) {
    const { accent } = this.app.colours;
    const draw = () => {
      if (!this.labelled) this.chip(context, letters, row, column);
      else if (row !== null) this.rowLabel(letters, row, accent);
      else this.columnLabel(letters, column, accent);
    };
    if (row !== null) this.within(context, 0, this.top - 12, this.left, this.height, draw);
    else this.within(context, 0, 0, this.width, this.top, draw);
  }

  /** A token beside cells that are too small for one each. */
  chip(context, letters, row, column) {
    const token = row !== null ? this.rowTokens[row] : this.columnTokens[column];
    const width = Math.min(this.room, letters.width(token)) + 10;
    const over = column === null ? 0 : this.x(column) + this.cell / 2 - width / 2;
    const x = row !== null ? this.left - 6 - width : Math.max(4, Math.min(this.width - width - 4, over));
    const y = row !== null ? this.y(row) + this.cell / 2 - 10 : this.top - 24;
    context.fillStyle = this.app.colours.card;
    context.beginPath();
    context.roundRect(x - 2, y, width + 4, 20, 4);
    context.fill();
    letters.draw(token, x + width / 2, y + 10, this.room, "center", this.app.colours.accent);
  }

  /** The cell, or only the row or column, under the pointer. */
  find(event) {
    const box = this.pane.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const slant = this.slanted && y < this.top ? this.top - y : 0; // labels lean to the right
    const column = Math.floor((x - slant - this.x(0)) / this.cell), row = Math.floor((y - this.y(0)) / this.cell);
    const inRow = y >= this.top && row < this.matrix.rows;
    const inColumn = x >= this.left && column >= 0 && column < this.matrix.columns;
    if (inRow && inColumn) return { row, column };
    if (inRow && x < this.left) return { row, column: null };
    if (inColumn && y < this.top) return { row: null, column };
    return null;
  }

  key(event) {
    const focus = this.app.focus, { rows, columns } = this.matrix;
    const row = focus.row ?? 0, column = focus.column ?? 0, started = focus.row !== null && focus.column !== null;
    const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
      Home: [0, -columns], End: [0, columns], PageUp: [-10, 0], PageDown: [10, 0] };
    if (event.key === "Escape") return this.app.change({ point: null, pin: null });
    if (event.key === "Enter") return this.app.pin({ row, column });
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const [down, right] = started ? moves[event.key] : [0, 0];
    const point = { row: clamp(row + down, rows), column: clamp(column + right, columns) };
    this.app.change({ point });
    this.reveal(point);
  }

  /** Scroll until the cell is seen. */
  reveal({ row, column }) {
    const { element, cell } = this;
    const shift = (start, end, least, most) => (start < least ? start - least : end > most ? end - most : 0);
    if (column !== null) element.scrollLeft += shift(this.x(column), this.x(column) + cell, this.left, this.width);
    element.scrollTop += shift(this.y(row), this.y(row) + cell, this.top, this.height);
  }

  /** 1 fits; larger is larger. */
  scaleTo(zoom) {
    const middle = (this.element.scrollTop + this.element.clientHeight / 2) / this.cell;
    const centre = (this.element.scrollLeft + this.element.clientWidth / 2) / this.cell;
    this.zoom = Math.max(1, Math.min(LARGEST_CELL / this.fitted, zoom));
    this.measure();
    this.element.scrollTop = middle * this.cell - this.element.clientHeight / 2;
    this.element.scrollLeft = centre * this.cell - this.element.clientWidth / 2;
    this.paint();
  }

  get canGrow() {
    return this.fitted < 18;
  }
}
