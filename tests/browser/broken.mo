model Broken "</pre><script>document.title = 'taken'</script>"
  Real x;
equation
  der(x) = lenght;
end Broken;
