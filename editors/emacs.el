;; In ~/.emacs.d/init.el, for Emacs 29 and later.
(define-derived-mode daelight-mode prog-mode "Modelica"
  (setq-local comment-start "// ")
  (setq-local indent-tabs-mode nil))
(add-to-list 'auto-mode-alist '("\\.mo\\'" . daelight-mode))
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs '(daelight-mode . ("daelight" "lsp"))))
(add-hook 'daelight-mode-hook #'eglot-ensure)
