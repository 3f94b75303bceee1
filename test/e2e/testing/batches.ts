// Many requests, some at a time.

const AT_ONCE = 16;

/** `work` for 0 to `count` - 1. */
export async function inBatches(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const run = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, run));
}
