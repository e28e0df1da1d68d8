// The image with the focus of one word, large, and of every word, small.

/** The grid drawn smoothly: cubic B-splines, which never overshoot. */
function smooth(weights, rows, columns, factor) {
  const along = (values, count, lines, read) => {
    const out = new Float32Array(count * factor * lines);
    for (let line = 0; line < lines; line++) {
      for (let at = 0; at < count * factor; at++) {
        const place = (at + 0.5) / factor - 0.5, first = Math.floor(place), t = place - first;
        const parts = [(1 - t) ** 3, 3 * t ** 3 - 6 * t ** 2 + 4, -3 * t ** 3 + 3 * t ** 2 + 3 * t + 1, t ** 3];
        let sum = 0;
        parts.forEach((part, i) => (sum += part * values[read(line, Math.max(0, Math.min(count - 1, first - 1 + i)))]));
        out[line * count * factor + at] = sum / 6;
      }
    }
    return out;
  };
  const wide = columns * factor;
  const across = along(weights, columns, rows, (row, column) => row * columns + column);
  const down = along(across, rows, wide, (column, row) => row * wide + column); // column by column
  const tall = rows * factor, out = new Float32Array(wide * tall);
  for (let row = 0; row < tall; row++) {
    for (let column = 0; column < wide; column++) out[row * wide + column] = down[column * tall + row];
  }
  return out;
}

class ImageView {
  constructor(app) {
    this.app = app;
    this.element = make("div", "picture");
    this.canvas = make("canvas", "large");
    this.canvas.setAttribute("role", "img");
    this.strip = make("div", "strip");
    this.strip.setAttribute("role", "group");
    this.element.append(this.canvas, this.strip);
    this.canvas.addEventListener("pointermove", (event) => {
      this.app.change({ point: { row: this.row, column: this.find(event) } });
    });
    this.canvas.addEventListener("pointerleave", (event) => this.app.leave(event));
    this.strip.addEventListener("keydown", (event) => this.key(event));
  }

  /** Words are steps here: one is always chosen. */
  get row() {
    return this.app.state.step ?? 0;
  }

  draw() {
    const { app } = this, { image } = app.trace;
    if (this.shown !== image) {
      this.shown = image;
      this.picture = null;
      if (image.data.startsWith("data:image/")) {
        const picture = new Image();
        picture.onload = () => { this.picture = picture; if (this.shown === image) app.draw(); };
        picture.src = image.data;
      }
    }
    const shape = this.picture ? this.picture.naturalWidth / this.picture.naturalHeight : image.columns / image.rows;
    const height = Math.min(Math.min(app.room, 620) / shape, Math.max(240, window.innerHeight * 0.5));
    this.width = Math.round(height * shape);
    this.height = Math.round(height);
    resize(this.canvas, this.width, this.height);
    this.canvas.setAttribute("aria-label", app.words.imageLabel);
    this.masks = new Map();
    this.fillStrip(shape);
    this.point();
  }

  fillStrip(shape) {
    const { app } = this, { tokens } = app.trace.target;
    const height = 62, width = Math.round(Math.max(44, Math.min(110, height * shape)));
    this.strip.setAttribute("aria-label", app.words.target);
    this.buttons = tokens.map((token, row) => {
      const button = make("button", "frame"), canvas = make("canvas");
      button.type = "button";
      resize(canvas, width, height);
      this.paint(canvas.getContext("2d"), width, height, row);
      button.append(canvas, tokenElement(token));
      button.style.width = `${width}px`;
      button.addEventListener("click", () => app.change({ step: row, playing: false }));
      return button;
    });
    const fitting = Math.max(1, Math.floor((app.room + 8) / (width + 8))), lines = Math.ceil(tokens.length / fitting);
    this.strip.style.maxWidth = `${Math.ceil(tokens.length / lines) * (width + 8)}px`; // lines of equal length
    this.strip.style.justifyContent = lines > 1 ? "start" : "center";
    this.strip.replaceChildren(...this.buttons);
  }

  /** A veil that is thin where the word looked. */
  mask(row) {
    if (!this.masks.has(row)) {
      const { rows, columns } = this.app.trace.image;
      const factor = Math.max(2, Math.min(16, Math.round(160 / Math.max(rows, columns))));
      const values = smooth(this.app.matrix.row(row), rows, columns, factor);
      const largest = values.reduce((most, value) => Math.max(most, value), 0) || 1;
      const canvas = make("canvas");
      canvas.width = columns * factor;
      canvas.height = rows * factor;
      const context = canvas.getContext("2d"), pixels = context.createImageData(canvas.width, canvas.height);
      for (let at = 0; at < values.length; at++) pixels.data.set([10, 13, 26, 212 * (1 - values[at] / largest)], 4 * at);
      context.putImageData(pixels, 0, 0);
      this.masks.set(row, canvas);
    }
    return this.masks.get(row);
  }

  paint(context, width, height, row) {
    context.imageSmoothingQuality = "high";
    context.fillStyle = this.app.colours.dark ? "#c9cedd" : "#ffffff";
    context.fillRect(0, 0, width, height);
    if (this.picture) context.drawImage(this.picture, 0, 0, width, height);
    context.drawImage(this.mask(row), 0, 0, width, height);
  }

  point() {
    const { app } = this, context = this.canvas.getContext("2d"), { image } = app.trace, { column } = app.focus;
    this.paint(context, this.width, this.height, this.row);
    if (column !== null) {
      const wide = this.width / image.columns, tall = this.height / image.rows;
      context.strokeStyle = "#ffffff";
      context.lineWidth = 1.5;
      context.strokeRect((column % image.columns) * wide, Math.floor(column / image.columns) * tall, wide, tall);
    }
    this.buttons.forEach((button, row) => {
      button.tabIndex = row === this.row ? 0 : -1;
      button.setAttribute("aria-pressed", String(row === this.row));
      button.classList.toggle("later", app.limit !== null && app.state.playing && row > app.limit);
    });
  }

  find(event) {
    const box = this.canvas.getBoundingClientRect(), { rows, columns } = this.app.trace.image;
    const at = (place, size, count) => Math.max(0, Math.min(count - 1, Math.floor((place / size) * count)));
    return at(event.clientY - box.top, box.height, rows) * columns + at(event.clientX - box.left, box.width, columns);
  }

  key(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const row = Math.max(0, Math.min(this.buttons.length - 1, this.row + step));
    this.app.change({ step: row, playing: false });
    this.buttons[row].focus();
  }
}
