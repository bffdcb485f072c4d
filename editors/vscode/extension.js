// Starts `daelight lsp` for Modelica files; everything else is the server's.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const command = workspace.getConfiguration("daelight").get("path", "daelight");
  client = new LanguageClient(
    "daelight",
    "daelight",
    { command, args: ["lsp"] },
    {
      documentSelector: [{ language: "modelica" }],
      synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.mo") },
    },
  );
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
