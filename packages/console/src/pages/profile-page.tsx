// The signed-in user: name and groups, sessions and keys, and signing out everywhere.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createResourceClient } from "@postern/client/resource-client";
import { useState } from "react";
import { useApi } from "../api/api-context.tsx";
import { ACCESS_KEYS, nameOf } from "../api/resources.ts";
import { useLive } from "../api/use-live.ts";
import { useSelf } from "../api/use-self.ts";
import { Button } from "../components/button.tsx";
import { DescriptionList } from "../components/description-list.tsx";
import { Confirm } from "../components/dialogs/confirm.tsx";
import { ErrorNotice } from "../components/notice.tsx";
import { PageHead, Section } from "../components/page-head.tsx";
import { Time } from "../components/time.tsx";
import { useSession } from "../session/session-context.tsx";
import { counted, t } from "../texts/text.tsx";
import { KeyList } from "./keys/key-list.tsx";
import { isLogin } from "./keys/key-state.ts";
import { keysOf, Sessions, sessionsIn } from "./people/sessions.tsx";

export function ProfilePage() {
  const { client, session } = useApi();
  const { end } = useSession();
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS);
  const self = useSelf();
  const [isEnding, setEnding] = useState(false);
  const own = keysOf(keys.items, session.user);
  const sessions = sessionsIn(own);
  const others = sessions.filter((key) => nameOf(key) !== session.keyName);
  const resource = createResourceClient<OwnedAccessKey>(client, ACCESS_KEYS);
  const endAll = async (report: (done: number, all: number) => void): Promise<void> => {
    for (const [done, key] of others.entries()) {
      report(done, sessions.length);
      await resource.delete(nameOf(key)).catch((error: unknown) => {
        // Ended elsewhere in the meantime.
        if (!isApiError(error, "NotFound")) throw error;
      });
    }
    await end();
  };
  return (
    <>
      <PageHead
        title={session.displayName}
        lead={t("profile.lead")}
        actions={
          <>
            <Button onPress={() => void end()}>{t("session.signOut")}</Button>
            <Button kind="danger" onPress={() => setEnding(true)}>
              {t("profile.everywhere")}
            </Button>
          </>
        }
      />
      {self.error !== null && <ErrorNotice error={self.error} onRetry={() => void self.refetch()} />}
      <div className="card">
        <DescriptionList
          items={[
            [t("field.user"), session.user],
            [t("field.subject"), <code key="subject">{self.data?.subject ?? ""}</code>],
            ...(self.data?.user?.email ? [[t("field.email"), self.data.user.email] as const] : []),
            [t("field.teams"), self.data?.user?.teams?.map(({ name }) => name).join(", ") || t("profile.noTeams")],
            [t("profile.sessionEnds"), <Time key="ends" at={session.expiresAt} otherwise={t("key.neverExpires")} />],
          ]}
        />
        <details className="aside groups">
          <summary>{counted("profile.groups", self.data?.groups?.length ?? 0)}</summary>
          <p className="mono">{self.data?.groups?.join(", ")}</p>
        </details>
      </div>
      <Sessions user={session.user} list={keys} keys={own} lead={t("profile.sessions.lead")} />
      <Section title={t("profile.keys")} lead={t("profile.keys.lead")}>
        <KeyList list={keys} keys={own.filter((key) => !isLogin(key))} none={t("list.empty")} />
      </Section>
      <Confirm
        isOpen={isEnding}
        onClose={() => setEnding(false)}
        isDangerous
        title={t("profile.everywhere.title")}
        action={t("profile.everywhere")}
        consequences={[counted("profile.everywhere.sessions", sessions.length), t("profile.everywhere.keys")]}
        onConfirm={endAll}
      />
    </>
  );
}
