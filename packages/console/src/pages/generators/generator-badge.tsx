// A badge with the state of a kubeconfig generator, or of one of its virtual clusters.

import "./generator-texts.ts";
import type { Condition } from "@postern/api/conditions";
import { Badge } from "../../components/badge.tsx";
import { named, t } from "../../texts/text.tsx";

export const readyOf = (conditions: readonly Condition[] | undefined): Condition | undefined =>
  conditions?.find(({ type }) => type === "Ready");

export function GeneratorBadge({ conditions }: { readonly conditions: readonly Condition[] | undefined }) {
  const ready = readyOf(conditions);
  if (ready?.status === "True") return <Badge tone="good">{t("generator.current")}</Badge>;
  const reason = ready?.reason ?? "Pending";
  return <Badge tone={reason === "Pending" ? "info" : "bad"}>{named("generator.reason", reason)}</Badge>;
}
