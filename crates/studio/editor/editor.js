// What the page uses of CodeMirror 6, as one file: `npm ci && npm run build` in this folder writes ../page/editor.js.
export { EditorState, Compartment, StateEffect, StateField } from "@codemirror/state";
export {
  EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection, hoverTooltip, Decoration,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { StreamLanguage, syntaxHighlighting, HighlightStyle, bracketMatching, indentOnInput } from "@codemirror/language";
export { setDiagnostics, lintGutter, lintKeymap, forEachDiagnostic } from "@codemirror/lint";
export { autocompletion, completionKeymap, closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
export { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
export { modelica } from "@codemirror/legacy-modes/mode/modelica";
export { tags } from "@lezer/highlight";
