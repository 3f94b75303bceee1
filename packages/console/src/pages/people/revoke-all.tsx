// Revokes all credentials of a user, who keeps teams, roles and the way to sign in.

import type { CredentialLedger } from "@postern/api/credential-ledger";
import { createResourceClient } from "@postern/client/resource-client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApi } from "../../api/api-context.tsx";
import { managementVersion, USERS } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/confirm.tsx";
import { ErrorNotice } from "../../components/notice.tsx";
import { useOpened } from "../../components/use-opened.ts";
import { counted, t } from "../../texts/text.tsx";
import { countCredentials } from "./credential-counts.ts";

/** `stays`: the credentials that stay valid, one sentence each. */
export function RevokeAll({ name, stays }: { readonly name: string; readonly stays: readonly ReactNode[] }) {
  const { client, session } = useApi();
  const queries = useQueryClient();
  const right = useMay({ verb: "create", resource: "users", subresource: "credentials", name });
  const { opened, open, close } = useOpened<"revoke">(["revoke"]);
  const isOpen = opened === "revoke";
  const users = createResourceClient(client, USERS);
  const found = useQuery({
    queryKey: ["credentials", "user", name],
    enabled: isOpen,
    gcTime: 0,
    // The subresource has this shape.
    queryFn: async ({ signal }) => (await users.getSubresource(name, "credentials", { signal })) as CredentialLedger,
  });
  if (!right.isAllowed) return null;
  const counts = found.data && countCredentials(found.data.status?.credentials ?? []);
  const revoke = async (): Promise<void> => {
    const body = { apiVersion: managementVersion, kind: "CredentialLedger", metadata: {}, spec: { all: true } };
    await users.createSubresource(name, "credentials", body);
    await queries.invalidateQueries({ queryKey: ["credentials"] });
  };
  return (
    <>
      <Button kind="danger" onPress={() => open("revoke")}>
        {t("user.revoke")}
      </Button>
      <Confirm
        isOpen={isOpen}
        onClose={close}
        title={t("user.revoke.title", { name })}
        action={t("user.revoke")}
        isDangerous
        isReady={counts !== undefined}
        consequences={
          counts === undefined
            ? [t("user.revoke.counting")]
            : [
                ...SORTS.filter((sort) => counts[sort] > 0).map((sort) => counted(`user.revoke.${sort}`, counts[sort])),
                t("user.revoke.made"),
                t("user.lock.open"),
                t("user.revoke.stays"),
                t("user.revoke.again"),
                ...(counts.elsewhere > 0 ? [counted("user.revoke.elsewhere", counts.elsewhere)] : []),
                ...stays,
                ...(name === session.user ? [t("user.lock.own")] : []),
              ]
        }
        onConfirm={revoke}
      >
        {found.error !== null && <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />}
      </Confirm>
    </>
  );
}

const SORTS = ["keys", "sessions", "kubeconfigs", "certificates", "generators"] as const;
