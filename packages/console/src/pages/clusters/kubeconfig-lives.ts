// The TTLs of kubeconfigs that the dialog offers. A kubeconfig ends with the session that it was made with: no choice is longer than that.

import { t } from "../../texts/text.tsx";

const FIXED = ["3600", "86400", "604800", "2592000"] as const;
/** As long as the session. */
export const REST = "rest";
export type Life = (typeof FIXED)[number] | typeof REST;
export const isLife = (text: string): text is Life => text === REST || FIXED.some((life) => life === text);
export const USUAL_LIFE = "86400";

/** For the command, which makes a kubeconfig with a credential of its own. */
export const FLAGS: { readonly [life in (typeof FIXED)[number]]: string } = {
  "3600": "1h",
  "86400": "1d",
  "604800": "7d",
  "2592000": "30d",
};

/** Seconds until `end`; without an end there is no limit. `now` in milliseconds. */
export const secondsLeft = (end: string | undefined, now: number): number =>
  end === undefined ? Number.POSITIVE_INFINITY : Math.max(0, Math.floor((Date.parse(end) - now) / 1_000));

export function livesWithin(left: number): readonly Life[] {
  const fixed = FIXED.filter((life) => Number(life) <= left);
  return fixed.length === FIXED.length ? fixed : [...fixed, REST];
}

/** `chosen`, or what is nearest to it within `left` seconds. */
export function lifeWithin(chosen: Life, left: number): Life {
  if (livesWithin(left).includes(chosen)) return chosen;
  return chosen === REST ? USUAL_LIFE : REST;
}

export const lifeText = (life: Life): string => t(`kubeconfig.life.${life}`);
