// Waiting items by client: clients take turns, and the items of one client keep their order. The client with the most recent turn is last.

export type WaitingByClient<T> = Map<string, T[]>;

export function addWaiting<T>(waiting: WaitingByClient<T>, client: string, item: T): void {
  const items = waiting.get(client);
  if (items === undefined) waiting.set(client, [item]);
  else items.push(item);
}

/** Removes an item of the client whose turn it is; undefined when none waits. */
export function takeFirst<T>(waiting: WaitingByClient<T>): T | undefined {
  for (const [client, items] of waiting) {
    waiting.delete(client);
    const item = items.shift();
    if (items.length > 0) waiting.set(client, items);
    return item;
  }
  return undefined;
}
