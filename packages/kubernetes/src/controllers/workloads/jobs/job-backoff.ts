// How long a Job waits before it replaces a failed pod.
// Source: k8s.io/kubernetes/pkg/controller/job/backoff_utils.go

import type { PodState } from "../pod-state.ts";

const FIRST_BACKOFF_MS = 10_000;
const MOST_BACKOFF_MS = 10 * 60_000;

/** When a pod ended, as far as it is known. */
export const endedAt = ({ finishedAt, createdAt }: PodState): number => finishedAt ?? createdAt;

/** Milliseconds that are left of 10 s, and of twice as many for each further failure, since the last one. */
export function delayAfter(failures: number, last: number, now: number): number {
  if (failures === 0) return 0;
  const delay = Math.min(FIRST_BACKOFF_MS * 2 ** Math.min(failures - 1, 10), MOST_BACKOFF_MS);
  return Math.max(0, last + delay - now);
}
