// The consequences of a step of a rotation, one sentence each.

import type { RotationAction } from "@postern/api/certificate-authority";
import { counted, t } from "../../texts/text.tsx";

type Counted = { readonly outdated?: { readonly certificates?: number; readonly tokenSecrets?: number } };

export function consequencesOf(
  action: RotationAction,
  { outdated: { certificates = 0, tokenSecrets = 0 } = {} }: Counted,
  isPlatform: boolean,
): readonly string[] {
  if (action === "Prepare")
    return isPlatform
      ? [t("authority.prepare.platform"), t("authority.prepare.keeps")]
      : [t("authority.prepare.cluster"), t("authority.prepare.keeps")];
  if (action === "Abort")
    return isPlatform ? [t("authority.abort.platform")] : [t("authority.abort.cluster"), t("object.delete.final")];
  return isPlatform
    ? [
        t("authority.complete.platform"),
        ...(certificates === 0 ? [] : [counted("authority.complete.kubeconfigs", certificates)]),
        t("object.delete.final"),
      ]
    : [
        ...(certificates === 0 ? [] : [counted("authority.complete.certificates", certificates)]),
        ...(tokenSecrets === 0 ? [] : [counted("authority.complete.secrets", tokenSecrets)]),
        t("authority.complete.tokens"),
        t("object.delete.final"),
      ];
}
