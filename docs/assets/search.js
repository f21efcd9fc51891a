// A word that begins with dashes is the name of an option (--start-offset). To the search engine it would mean: pages
// without this word.
const post = Worker.prototype.postMessage;
const QUERY = 2;
Worker.prototype.postMessage = function (message, ...rest) {
  if (message?.type === QUERY) {
    message = { ...message, data: message.data.replace(/(^|\s)-+(?=\w)/g, "$1") };
  }
  return post.call(this, message, ...rest);
};
