// How much of the quotas of a project is used: what the status of the project says.

import type { Project } from "@postern/api/project";

export type QuotaUse = {
  readonly resource: string;
  /** As it is written, such as `10` or `5Ki`. */
  readonly limit: string;
  /** Undefined where the server does not count it. */
  readonly used: number | undefined;
  /** 0 to 1, or more; undefined where it is not known. */
  readonly share: number | undefined;
};

/** From here on, a quota is nearly used up. */
export const NEARLY = 0.8;

/** The fullest first; those that are not counted last. */
export function quotaUses({ status }: Pick<Project, "status">): readonly QuotaUse[] {
  const { limit = {}, used = {} } = status?.quotas?.project ?? {};
  return Object.entries(limit)
    .map(([resource, text]): QuotaUse => {
      const [most, count] = [Number(text), used[resource] === undefined ? Number.NaN : Number(used[resource])];
      const isCounted = !Number.isNaN(count);
      return {
        resource,
        limit: text,
        used: isCounted ? count : undefined,
        share: isCounted && !Number.isNaN(most) ? (most === 0 ? 1 : count / most) : undefined,
      };
    })
    .sort((one, other) => (other.share ?? -1) - (one.share ?? -1));
}
