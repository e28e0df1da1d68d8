// Canvases as large as what is seen of them, sharp on any screen, and the colours of the page.

const HEAD_COLOURS = {
  light: ["#3346b8", "#d9480f", "#0b8a6b", "#b8235a", "#8a6d00", "#0b7fab", "#7a3fc0", "#5c6370"],
  dark: ["#93a4ff", "#ff9a62", "#4fd1ac", "#ff86b0", "#e3c44a", "#5cc4ef", "#c79bff", "#b4bccb"],
};

const NAMES = ["text", "quiet", "mark", "accent", "empty", "full", "card"];

/** How high a picture may be: a share of the window; in a frame, what is left of it, so that nothing has to scroll. */
function tallest(share, most) {
  if (window === window.parent) return Math.max(320, Math.min(window.innerHeight * share, most));
  const above = byId("stage").getBoundingClientRect().top + window.scrollY;
  return Math.max(240, window.innerHeight - above - byId("foot").offsetHeight - 64);
}

/** The colours of the style sheet as the browser resolves them in this theme. */
function readColours(dark) {
  const probe = make("span");
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const colours = Object.fromEntries(NAMES.map((name) => [name, read(name)]));
  probe.remove();
  return { ...colours, dark, heads: HEAD_COLOURS[dark ? "dark" : "light"], ramp: ramp(colours.empty, colours.full) };
}

function headColour(colours, head) {
  const { heads, dark } = colours;
  return heads[head] ?? `hsl(${Math.round(head * 137.5) % 360} 60% ${dark ? 70 : 42}%)`;
}

/** Of a colour such as `rgb(1, 2, 3)`. */
function channels(colour) {
  return colour.match(/\d+/g).slice(0, 3).map(Number);
}

/** Small weights are shown stronger than they are, as most are small; the scale below the matrix shows how much. */
const SHADES_THERE_ARE = 1024, GAMMA = 0.6;

/** Colours from one to another, as channels. */
function ramp(from, to) {
  const first = channels(from), last = channels(to);
  const between = (part) => first.map((start, i) => Math.round(start + (last[i] - start) * part));
  return Array.from({ length: SHADES_THERE_ARE }, (_, at) => between((at / (SHADES_THERE_ARE - 1)) ** GAMMA));
}

function shade(colours, weight, largest) {
  return colours.ramp[Math.round((SHADES_THERE_ARE - 1) * Math.min(1, weight / (largest || 1)))];
}

function scaleGradient(colours) {
  const stops = Array.from({ length: 17 }, (_, at) => `rgb(${shade(colours, at, 16).join(" ")}) ${(100 * at) / 16}%`);
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

/** A picture with one pixel for each weight. */
function bitmap(matrix, colours, canvas = document.createElement("canvas")) {
  canvas.width = matrix.columns;
  canvas.height = matrix.rows;
  const context = canvas.getContext("2d"), image = context.createImageData(matrix.columns, matrix.rows);
  const pixels = image.data, { values, largest } = matrix;
  for (let at = 0; at < values.length; at++) {
    const colour = shade(colours, values[at], largest);
    pixels[4 * at] = colour[0];
    pixels[4 * at + 1] = colour[1];
    pixels[4 * at + 2] = colour[2];
    pixels[4 * at + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Give a canvas its size in CSS pixels; what is drawn counts in those. */
function resize(canvas, width, height) {
  const density = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * density));
  canvas.height = Math.max(1, Math.round(height * density));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.getContext("2d").setTransform(density, 0, 0, density, 0, 0);
}

const FONT = getComputedStyle(document.documentElement).fontFamily;
