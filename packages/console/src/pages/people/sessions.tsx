// The sessions of a user in browsers and command lines, with a button to end each.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { createResourceClient } from "@postern/client/resource-client";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf, titleOf } from "../../api/resources.ts";
import type { LiveList } from "../../api/use-live.ts";
import { useMay } from "../../api/use-may.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { Section } from "../../components/page-head.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { t } from "../../texts/text.tsx";
import { isLogin, keyState, momentOf, ownerOf } from "../keys/key-state.ts";

/** Keys of the user. */
export const keysOf = (keys: readonly OwnedAccessKey[], user: string): readonly OwnedAccessKey[] =>
  keys.filter((key) => ownerOf(key).kind === "user" && ownerOf(key).name === user);

/** The keys among `keys` that are sessions. */
export const sessionsIn = (keys: readonly OwnedAccessKey[]): readonly OwnedAccessKey[] =>
  keys.filter((key) => isLogin(key) && keyState(key, momentOf(Date.now())).tone !== "muted");

/** `list`: the list of all keys; `keys`: those of the user. */
export function Sessions(props: {
  readonly user: string;
  readonly list: LiveList<unknown>;
  readonly keys: readonly OwnedAccessKey[];
  readonly lead: string;
}) {
  const { user, list, keys, lead } = props;
  const { client, session } = useApi();
  const right = useMay({ verb: "delete", resource: "ownedaccesskeys" });
  const [ending, setEnding] = useState<OwnedAccessKey>();
  const sessions = sessionsIn(keys);
  // Users may always end their own sessions.
  const mayEnd = right.isAllowed || user === session.user;
  return (
    <Section title={t("sessions.title")} lead={lead}>
      <LongList items={sessions} none={t("sessions.none")} isLoading={list.isLoading} textOf={(key) => titleOf(key)}>
        {(key) => (
          <li key={key.metadata.uid}>
            <span className="two-lines">
              <span>
                {titleOf(key)} {nameOf(key) === session.keyName && <Badge tone="info">{t("sessions.this")}</Badge>}
              </span>
              <span className="muted">
                {t("sessions.began")} <Time at={key.metadata.creationTimestamp} otherwise="" />
                {key.status?.lastActivity != null && (
                  <>
                    , {t("time.used")} <Time at={key.status.lastActivity} otherwise="" />
                  </>
                )}
              </span>
            </span>
            {mayEnd && nameOf(key) !== session.keyName && (
              <Button
                kind="danger"
                onPress={() => setEnding(key)}
                aria-label={t("sessions.end.of", { name: nameOf(key) })}
              >
                {t("sessions.end")}
              </Button>
            )}
          </li>
        )}
      </LongList>
      <Confirm
        isOpen={ending !== undefined}
        onClose={() => setEnding(undefined)}
        title={t("sessions.end.title")}
        action={t("sessions.end")}
        isDangerous
        consequences={[t("sessions.end.browser"), t("sessions.end.made")]}
        onConfirm={async () => {
          if (ending !== undefined) await createResourceClient(client, ACCESS_KEYS).delete(nameOf(ending));
        }}
      />
    </Section>
  );
}
