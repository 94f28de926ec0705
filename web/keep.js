// The browser keeps the latest checkpoint: whoever closes the tab can go on. Where it may keep nothing, nothing else is lost.

const NAME = 'train-gpt', STORE = 'runs';
/** Number of the latest runs that are kept. */
const KEPT = 3;

function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function open() {
  const request = indexedDB.open(NAME, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'id' }).createIndex('when', 'when');
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

/** Names of the runs, the oldest first; what they hold may be large. */
const names = store => done(store.index('when').getAllKeys());

/** Keeps a checkpoint with what is known of its run; true if it is kept. */
export async function keep(memoir, checkpoint) {
  try {
    await withStore('readwrite', async store => {
      await done(store.put({ ...memoir, checkpoint, when: Date.now() }));
      const old = (await names(store)).slice(0, -KEPT);
      await Promise.all(old.map(id => done(store.delete(id))));
    });
    return true;
  } catch {
    return false;
  }
}

/** The run that was kept last, or null. */
export async function kept() {
  try {
    return await withStore('readonly', async store => {
      const last = (await names(store)).at(-1);
      return last === undefined ? null : done(store.get(last));
    });
  } catch {
    return null;
  }
}

export async function forget(id) {
  try { await withStore('readwrite', store => done(store.delete(id))); } catch { /* it was not kept */ }
}
