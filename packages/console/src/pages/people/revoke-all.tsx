// Revokes all credentials of a user, who keeps teams, roles and the way to sign in.

import type { CredentialLedger } from "@postern/api/credential-ledger";
import { createResourceClient } from "@postern/client/resource-client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { useApi } from "../../api/api-context.tsx";
import { USERS } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { useOpened } from "../../components/dialogs/use-opened.ts";
import { ErrorNotice } from "../../components/notice.tsx";
import { counted, t } from "../../texts/text.tsx";
import { countCredentials } from "./credential-counts.ts";

/** The credentials of a user, read while they are wanted. */
export function useUserCredentials(name: string, isWanted: boolean) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["credentials", "user", name],
    enabled: isWanted,
    gcTime: 0,
    async queryFn({ signal }) {
      // The subresource has this shape.
      const users = createResourceClient(client, USERS);
      const { status } = (await users.getSubresource(name, "credentials", { signal })) as CredentialLedger;
      return status?.credentials ?? [];
    },
  });
}

/** `stays`: the credentials that stay valid, one sentence each. `onRevoked`: the credentials that were revoked, one sentence for each sort. */
export function RevokeAll(props: {
  readonly name: string;
  readonly stays: readonly ReactNode[];
  readonly onRevoked: (ended: readonly string[]) => void;
}) {
  const { name, stays, onRevoked } = props;
  const { client, session } = useApi();
  const queries = useQueryClient();
  const right = useMay({ verb: "create", resource: "users", subresource: "credentials", name });
  const { opened, open, close } = useOpened<"revoke">(["revoke"]);
  const isOpen = opened === "revoke";
  const found = useUserCredentials(name, isOpen);
  if (!right.isAllowed) return null;
  const counts = found.data && countCredentials(found.data);
  const ended =
    counts === undefined
      ? []
      : SORTS.filter((sort) => counts[sort] > 0).map((sort) => counted(`user.revoke.${sort}`, counts[sort]));
  const revoke = async (): Promise<void> => {
    const body = { kind: "CredentialLedger", spec: { all: true } };
    await createResourceClient(client, USERS).createSubresource(name, "credentials", body);
    onRevoked(ended);
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
                ...ended,
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
