-- In ~/.config/nvim/init.lua, for Neovim 0.11 and later.
vim.filetype.add({ extension = { mo = "modelica" } })
vim.lsp.config("daelight", {
  cmd = { "daelight", "lsp" },
  filetypes = { "modelica" },
  root_markers = { "package.mo", ".git" },
})
vim.lsp.enable("daelight")
