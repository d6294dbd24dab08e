// What the browser remembers: for this tab (the token, the sentence that is being tried), or for good (the bot,
// colours). Where it refuses to, as private windows may, the page itself remembers for as long as it is open.

const own = new Map();

export const tab = area(() => sessionStorage, "tab");
export const always = area(() => localStorage, "always");

function area(place, name) {
  return {
    get(key) {
      try {
        return place().getItem(`handful.${key}`) ?? own.get(name + key) ?? null;
      } catch {
        return own.get(name + key) ?? null;
      }
    },
    set(key, value) {
      try {
        place().setItem(`handful.${key}`, value);
      } catch {
        own.set(name + key, value);
      }
    },
    forget(key) {
      own.delete(name + key);
      try {
        place().removeItem(`handful.${key}`);
      } catch {
        // Then it was never there.
      }
    },
  };
}
