// Values that may be available without waiting, so that reads from memory need no promise.

export type Awaitable<T> = T | Promise<T>;

/** `next` of the value: at once where the value is there, else when it is. */
export const whenDone = <T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> =>
  value instanceof Promise ? value.then(next) : next(value);
