// A short state in colour, such as `Ready`.

import type { ReactNode } from "react";

export type Tone = "good" | "warn" | "bad" | "info" | "muted";

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  return <span className={`badge ${tone}`}>{children}</span>;
}
