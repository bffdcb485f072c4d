model Hostile "</title></script><script>document.title = 'taken'</script> & <img src=x onerror=alert(1)>"
  parameter Real '</script>&"'(unit = "<b>") = 2 "<!-- ]]> & 'quoted'";
  Real 'x</script>'(start = 1, fixed = true, unit = "\"><i>") "</h2>";
equation
  der('x</script>') = -'</script>&"'*'x</script>' "</code>";
end Hostile;
