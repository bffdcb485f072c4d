// The editor: Modelica with the diagnostics of `check`, names completed, and what is known about them at hand.
import {
  EditorState, EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection, hoverTooltip,
  defaultKeymap, history, historyKeymap, indentWithTab, StreamLanguage, syntaxHighlighting, HighlightStyle, bracketMatching,
  indentOnInput, setDiagnostics, lintGutter, lintKeymap, autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap,
  searchKeymap, highlightSelectionMatches, modelica, tags,
} from "./editor.js";
import { make, short } from "./ask.js";

/** What the numbers of the language server's protocol mean for the editor, and what comes first. */
const KINDS = { 3: ["function", 0], 6: ["variable", 2], 7: ["class", 0], 10: ["property", 3], 14: ["keyword", -1], 20: ["constant", 0], 21: ["constant", 2] };

const style = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--c6)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--c2)" },
  { tag: tags.comment, color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.number, tags.atom], color: "var(--c1)" },
  { tag: [tags.typeName, tags.standard(tags.name), tags.standard(tags.variableName)], color: "var(--c0)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--card)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--wash) !important" },
  ".cm-gutters": { backgroundColor: "var(--card)", color: "var(--soft)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--wash) 55%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--wash)" },
  ".cm-panels": { backgroundColor: "var(--card)", color: "var(--ink)" },
});

/** The words of the language server: paragraphs, and code between fences. */
const described = (words) => words.split(/```\w*\n?/).flatMap((piece, k) => (!piece.trim() ? [] : k % 2 ? [make("pre", {}, piece.trim())] : piece.trim().split(/\n\n+/).map((one) => make("div", {}, one.replaceAll("`", "")))));

/** The editor with what the studio tells it: names, hidden constraints, blocks. */
export class Text {
  constructor(parent, { onChange, onSave, onFormat, onAsk }) {
    this.onAsk = onAsk;
    this.known = { names: [], hidden: [], blocks: [], parameters: [], starts: [] };
    this.quiet = false;
    const changed = EditorView.updateListener.of((update) => { if (update.docChanged && !this.quiet) onChange(); });
    this.view = new EditorView({
      parent,
      state: EditorState.create({
        doc: "",
        extensions: [
          lineNumbers(), highlightActiveLine(), highlightActiveLineGutter(), drawSelection(), history(), bracketMatching(), closeBrackets(),
          indentOnInput(), lintGutter(), EditorView.lineWrapping, highlightSelectionMatches(), StreamLanguage.define(modelica), syntaxHighlighting(style), theme, changed,
          autocompletion({ override: [(context) => this.complete(context)] }),
          hoverTooltip((view, at) => this.hover(view, at)),
          EditorView.contentAttributes.of({ "aria-label": "Modelica text", spellcheck: "false" }),
          keymap.of([
            { key: "Mod-s", run: () => { onSave(); return true; } },
            { key: "Shift-Alt-f", run: () => { onFormat(); return true; } },
            ...closeBracketsKeymap, ...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap,
          ]),
        ],
      }),
    });
  }

  get text() { return this.view.state.doc.toString(); }

  set text(text) {
    this.quiet = true;
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text }, selection: { anchor: 0 }, scrollIntoView: true });
    this.quiet = false;
  }

  /** Changes the text where it differs, so that the cursor stays and the change can be undone. */
  replace(fresh) {
    const old = this.text;
    let [from, behind] = [0, 0];
    const most = Math.min(old.length, fresh.length);
    while (from < most && old[from] === fresh[from]) from += 1;
    while (behind < most - from && old[old.length - 1 - behind] === fresh[fresh.length - 1 - behind]) behind += 1;
    if (old !== fresh) this.view.dispatch({ changes: { from, to: old.length - behind, insert: fresh.slice(from, fresh.length - behind) } });
  }

  /** Marks what is wrong at its places. */
  tell(diagnostics) {
    const most = this.view.state.doc.length;
    const marks = diagnostics.filter((one) => one.place).map((one) => {
      const from = Math.min(one.place[0], most);
      const to = Math.max(from, Math.min(one.place[1], most));
      return {
        from, to, severity: one.severity, source: one.code,
        renderMessage: () => make("div", {}, make("strong", {}, `${one.severity}[${one.code}] `), one.message,
          one.label ? make("div", {}, one.label) : null, one.help ? make("div", { class: "soft" }, "help: " + one.help) : null),
        message: one.message,
      };
    });
    this.view.dispatch(setDiagnostics(this.view.state, marks));
  }

  /** Shows a place. */
  show(from, to) {
    const most = this.view.state.doc.length;
    this.view.dispatch({ selection: { anchor: Math.min(from, most), head: Math.min(to ?? from, most) }, scrollIntoView: true });
    this.view.focus();
  }

  showLine(line) {
    const found = this.view.state.doc.line(Math.min(line, this.view.state.doc.lines));
    this.show(found.from, found.to);
  }

  /** What can be written here, as the language server knows it: names, parts behind a dot, attributes, functions, classes. */
  async complete(context) {
    const word = context.matchBefore(/\w+/);
    const isPart = context.matchBefore(/\.\w*/);
    if (!word && !isPart && !context.explicit) return null;
    const found = await this.onAsk("complete", context.state.doc.toString(), context.pos);
    if (!found?.items) return null;
    const about = new Map(this.known.names.map((one) => [one.name, one]));
    const options = found.items.map(({ label, kind, detail }) => {
      const [type, boost] = KINDS[kind] || ["text", 0];
      const known = !isPart && about.get(label);
      return { label, type, boost, detail: known?.unit || undefined, info: known?.comment || detail || undefined, apply: type === "property" ? `${label} = ` : label };
    });
    return { from: word ? word.from : context.pos, options, validFor: found.isIncomplete ? undefined : /^\w*$/ };
  }

  /** Kind, unit, meaning and block of a name; what follows from the equation of a line by differentiating. */
  async hover(view, at) {
    const line = view.state.doc.lineAt(at);
    const word = view.state.wordAt(at);
    const name = word && view.state.sliceDoc(word.from, word.to);
    const found = this.known.names.find((one) => one.name === name);
    const parts = [];
    if (found) {
      const dims = found.dims.length ? `[${found.dims.join(", ")}]` : "";
      parts.push(make("div", {}, make("strong", {}, found.name + dims), ` ${found.kind}, ${found.type}`, found.unit ? `, ${found.unit}` : ""));
      if (found.comment) parts.push(make("div", {}, found.comment));
      const own = (other) => other === found.name || other.startsWith(found.name + "[");
      const value = [...this.known.parameters, ...this.known.starts].find((one) => own(one.name));
      if (value) parts.push(make("div", { class: "soft" }, `${value.name} ${value.fixed === undefined ? "=" : "starts at"} ${short(value.value)}${value.fixed ? ", fixed" : ""}`));
      const block = this.known.blocks.findIndex((one) => one.unknowns.some(own));
      if (block >= 0) {
        const size = this.known.blocks[block].unknowns.length;
        parts.push(make("div", { class: "soft" }, `block ${block + 1} of ${this.known.blocks.length}, ${size} unknown${size > 1 ? "s" : ""}`));
      }
    }
    const hidden = this.known.hidden.filter((one) => one.line === line.number);
    if (hidden.length) {
      parts.push(make("div", {}, "From this equation, by differentiating:"));
      for (const one of hidden.slice(0, 4)) parts.push(make("pre", {}, `${one.times}×: ${one.text}`));
    }
    if (!found && word) {
      // A component, a class, a function: what the language server tells.
      const told = await this.onAsk("hover", view.state.doc.toString(), at);
      parts.unshift(...described(told?.contents?.value || ""));
    }
    if (!parts.length) return null;
    return { pos: word ? word.from : line.from, end: word ? word.to : line.to, above: true, create: () => ({ dom: make("div", { class: "about" }, parts) }) };
  }
}
