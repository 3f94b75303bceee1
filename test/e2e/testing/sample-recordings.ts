// Recordings for the picture of their page: the company of the pictures has no pods.

import type { SessionRecordingItem, SessionRecordingList } from "@postern/api/session-recording";
import type { Page } from "playwright-core";

const MINUTE_MS = 60_000;

const SESSIONS = [
  [4, 312, "Open", "ann-0", "shop-00", "dev", "checkout-7c9f4-x2lqp", "psql orders"],
  [38, 41, "Complete", "ben-0", "shop-00", "dev", "checkout-7c9f4-x2lqp", "sh -c df -h; ls /var/lib"],
  [95, 1_260, "Complete", "ann-3", "shop-03", "live", "search-0", "bash"],
  [260, 8, "Complete", "ann-0", "shop-00", "dev", "cart-5d8b7-9wz4k", "tar cf - /tmp/heap.hprof"],
  [610, 730, "Interrupted", "ben-3", "shop-03", "live", "search-0", "redis-cli monitor"],
  [1_300, 65, "Complete", "ann-7", "shop-07", "dev", "mail-66c54-7hq2d", "sh"],
] as const;

/** The list of a server that records sessions. */
export async function showRecordings(page: Page): Promise<void> {
  const now = Date.now();
  const items = SESSIONS.map(([minutes, durationSeconds, state, user, project, instance, pod, command], index) => {
    const item: SessionRecordingItem = {
      name: `20261130T101500123Z-audit-${index}-1f00a2b31f00a2b31f00a2b3`,
      startTime: new Date(now - minutes * MINUTE_MS).toISOString(),
      durationSeconds,
      bytes: 20_000 + index,
      state,
      user,
      project,
      instance,
      cluster: "eu-west",
      namespace: "default",
      pod,
      container: "",
      subresource: "exec",
      command: command.split(" "),
      auditID: `audit-${index}`,
      server: "postern-0",
    };
    return item;
  });
  const list: SessionRecordingList = { items };
  await page.context().route(/\/sessionrecordings\?/, (route) => route.fulfill({ json: list }));
}
