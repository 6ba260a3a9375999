// Order the results of a search: pages of the manual before objects of the API.
var Scorer = {
  score: ([page, title, anchor, descr, score]) => page.startsWith("api/") ? score : score + 20,
  objNameMatch: 11, objPartialMatch: 6, objPrio: {0: 15, 1: 5, 2: -5}, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
};
