// How the site's search orders its results: Sphinx's own figures, but a page on using it before a measurement of it.
var Scorer = {
  score: ([page, title, anchor, description, score]) => (page.startsWith("evidence/") ? score - 100 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 30,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
}
