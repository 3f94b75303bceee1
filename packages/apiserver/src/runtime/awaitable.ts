// Values that are there at once where nothing has to be waited for, so that a read from memory goes the whole way without a promise.

export type Awaitable<T> = T | Promise<T>;

/** `next` of the value: at once where the value is there, else when it is. */
export const whenDone = <T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> =>
  value instanceof Promise ? value.then(next) : next(value);
