// The browser keeps the latest checkpoint: whoever closes the tab can go on. Where it may keep nothing, nothing else is lost.

const NAME = 'train-gpt', STORE = 'runs';
/** So many runs are kept, the latest. */
const KEPT = 3;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function open() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' });
  return done(request);
}

async function withStore(mode, work) {
  const base = await open();
  try {
    const transaction = base.transaction(STORE, mode);
    const ended = new Promise((resolve, reject) => {
      transaction.oncomplete = resolve;
      transaction.onerror = transaction.onabort = () => reject(transaction.error);
    });
    const found = await work(transaction.objectStore(STORE));
    await ended;
    return found;
  } finally {
    base.close();
  }
}

const latestFirst = list => list.sort((a, b) => b.when - a.when);

/** Keeps a checkpoint with what is known of its run; true if it is kept. */
export async function keep(memoir, checkpoint) {
  try {
    await withStore('readwrite', async store => {
      await done(store.put({ ...memoir, checkpoint, when: Date.now() }));
      const all = latestFirst(await done(store.getAll()));
      await Promise.all(all.slice(KEPT).map(old => done(store.delete(old.id))));
    });
    return true;
  } catch {
    return false;
  }
}

/** The run that was kept last, or null. */
export async function kept() {
  try {
    return latestFirst(await withStore('readonly', store => done(store.getAll())))[0] ?? null;
  } catch {
    return null;
  }
}

export async function forget(id) {
  try { await withStore('readwrite', store => done(store.delete(id))); } catch { /* it was not kept */ }
}
