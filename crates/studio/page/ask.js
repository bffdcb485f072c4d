// Questions to the studio: one at a time for each purpose; a newer one takes the place of the older.

/** Sends a document; gives the answer. A refusal is an answer with `refused`. */
export const send = async (place, document_, signal) => {
  const options = document_ === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(document_),
  };
  const response = await fetch(place, { ...options, signal });
  const answer = await response.json();
  return answer;
};

const GONE = "The studio does not answer any more. Was it ended in the terminal?";

/** A purpose: asks the newest question, and forgets what became old. */
export class Purpose {
  constructor(lane, onBusy) {
    this.lane = lane;
    this.onBusy = onBusy || (() => {});
    this.running = null;
  }

  /** Gives up what is under way. */
  cancel() {
    if (this.running) this.running.abort();
    this.running = null;
    this.onBusy(null);
  }

  /** Asks at once, in place of what is under way; `null` where a newer question came. */
  async ask(question) {
    this.cancel();
    const mine = this.running = new AbortController();
    const began = performance.now();
    let told = 0;
    const watch = setInterval(async () => {
      const seconds = (performance.now() - began) / 1000;
      if (seconds < 0.5 || this.running !== mine) return;
      if (seconds - told > 0.4) {
        told = seconds;
        const part = await send("progress/" + this.lane).catch(() => 0);
        if (this.running === mine) this.onBusy({ seconds, part });
      }
    }, 100);
    try {
      return await send("ask/" + this.lane, question, mine.signal);
    } catch (error) {
      return this.running === mine ? { refused: GONE } : null;
    } finally {
      clearInterval(watch);
      if (this.running === mine) { this.running = null; this.onBusy(null); }
    }
  }
}

/** Calls later, once, after the last of many calls. */
export const later = (milliseconds, call) => {
  let timer = 0;
  const wait = (...words) => { clearTimeout(timer); timer = setTimeout(call, milliseconds, ...words); };
  wait.stop = () => clearTimeout(timer);
  return wait;
};

/** An element with attributes and children. */
export const make = (tag, attributes = {}, ...children) => {
  const svg = ["svg", "path", "circle", "g", "line", "title", "text", "rect", "clipPath"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
};

/** A number in a field, all its digits in sight. */
export const field = (value, digits = 6) => (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6) ? value.toExponential(digits - 2).replace(/\.?0+e/, "e").replace("e+", "e") : String(+value.toPrecision(digits)));

/** A number as people write it. */
export const short = (value, digits = 5) => {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(digits - 2).replace(/\.?0+e/, "e").replace("e+", "e");
  return String(+value.toPrecision(digits));
};
