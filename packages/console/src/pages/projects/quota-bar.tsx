// A bar of a quota: how much of it is used.

import { named, t } from "../../texts/text.tsx";
import { NEARLY, type QuotaUse } from "./quota-use.ts";

/** `isShort`: without the name of the resource, for tables. */
export function QuotaBar({ use, isShort = false }: { readonly use: QuotaUse; readonly isShort?: boolean }) {
  const { resource, limit, used, share } = use;
  const name = named("quota", resource);
  if (share === undefined || used === undefined)
    return (
      <span className="quota">
        <span>{name}</span>
        <span className="muted">{t("quota.limit", { limit })}</span>
      </span>
    );
  const text = t("quota.used", { used, limit });
  return (
    <span className={isShort ? "quota short" : "quota"}>
      {!isShort && <span>{name}</span>}
      <meter
        min={0}
        max={1}
        high={NEARLY}
        optimum={0}
        value={Math.min(share, 1)}
        aria-label={`${name}: ${text}`}
        title={`${name}: ${text}`}
      />
      <span className="muted">{text}</span>
    </span>
  );
}
