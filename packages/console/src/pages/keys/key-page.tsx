// One access key: its scope, its recorded use, credentials that were created with it, and its actions.

import type { CredentialLedger } from "@postern/api/credential-ledger";
import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { createResourceClient } from "@postern/client/resource-client";
import { useQuery } from "@tanstack/react-query";
import { type Api, useApi } from "../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf } from "../../api/resources.ts";
import { CredentialTree } from "../../components/credential-tree.tsx";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Loading } from "../../components/loading.tsx";
import { ErrorNotice, Notice } from "../../components/notice.tsx";
import { ObjectHead, objectPage } from "../../components/object-page.tsx";
import { Section } from "../../components/page-head.tsx";
import { Time } from "../../components/time.tsx";
import { duration } from "../../format/ages.ts";
import { named, sentence, t } from "../../texts/text.tsx";
import { KeyActions } from "./key-actions.tsx";
import { keyState, momentOf, ownerOf } from "./key-state.ts";
import { KeyStateBadge } from "./key-state-badge.tsx";
import { ScopeList } from "./scopes/scope-list.tsx";
import { scopeSummary } from "./scopes/scope-words.ts";
import { KeyActivity } from "./use/key-activity.tsx";
import { KeyEvents } from "./use/key-events.tsx";
import { KeyTrail } from "./use/key-trail.tsx";
import { KeyUse } from "./use/key-use.tsx";
import { useLatestUse } from "./use/last-used.tsx";

const keysOf = ({ client }: Pick<Api, "client">) => createResourceClient<OwnedAccessKey>(client, ACCESS_KEYS);

export const KeyPage = objectPage<OwnedAccessKey>(
  "key",
  () => ACCESS_KEYS,
  (accessKey) => <KeyView accessKey={accessKey} />,
);

function KeyView({ accessKey }: { readonly accessKey: OwnedAccessKey }) {
  const name = nameOf(accessKey);
  const credentials = useCredentials(name, accessKey);
  const { spec = {}, metadata } = accessKey;
  const status = useLatestUse(accessKey) ?? {};
  const made = (credentials.data ?? []).filter((credential) => credential.name !== name);
  const ready = status.conditions?.find(({ type }) => type === "Ready");
  return (
    <>
      <ObjectHead kind="key" object={accessKey} actions={<KeyActions accessKey={accessKey} made={made} />} />
      {keyState(accessKey, momentOf(Date.now())).tone === "bad" && ready?.message !== undefined && (
        <Notice tone="bad">
          <p>
            {sentence(ready.message)} {named("key.remedy", ready.reason ?? "")}
          </p>
        </Notice>
      )}
      <DescriptionCard
        items={[
          [t("field.state"), <KeyStateBadge key="state" accessKey={accessKey} />],
          [t("field.name"), <code key="name">{name}</code>],
          [t("field.owner"), `${ownerOf(accessKey).name} (${t(`owner.${ownerOf(accessKey).kind}`)})`],
          [t("field.lastUsed"), <Time key="used" at={status.lastActivity} otherwise={t("key.neverUsed")} />],
          status.lastUsedFrom !== undefined && [t("key.fact.from"), <From key="from" of={status.lastUsedFrom} />],
          spec.maxUses !== undefined && [
            t("key.fact.uses"),
            t("key.uses", { uses: Number(status.uses ?? 0), maxUses: Number(spec.maxUses) }),
          ],
          [t("field.expires"), <Expiry key="expires" accessKey={accessKey} />],
          [t("field.created"), <Time key="created" at={metadata.creationTimestamp} otherwise="" />],
          status.issuedBy !== undefined && [
            t("key.fact.issuedBy"),
            `${status.issuedBy.rule} (${status.issuedBy.subject})`,
          ],
          spec.secretRef !== undefined && [t("key.fact.secret"), `${spec.secretRef.namespace}/${spec.secretRef.name}`],
          spec.groups !== undefined && spec.groups.length > 0 && [t("key.fact.groups"), spec.groups.join(", ")],
        ]}
      />
      <KeyActivity name={name} />
      <Section title={t("key.scope.title")} lead={scopeSummary(spec)}>
        <ScopeList limits={spec} />
      </Section>
      <KeyUse accessKey={accessKey} usedAt={status.lastActivity} />
      <Section title={t("key.made.title")} lead={t("key.made.lead")}>
        {credentials.isPending && <Loading />}
        {credentials.error !== null && (
          <ErrorNotice error={credentials.error} onRetry={() => void credentials.refetch()} />
        )}
        {credentials.data !== undefined && made.length === 0 && <p className="muted">{t("key.made.none")}</p>}
        {made.length > 0 && <CredentialTree address={ACCESS_KEYS} name={name} credentials={credentials.data ?? []} />}
      </Section>
      <Section title={t("key.events.title")} lead={t("key.events.lead")}>
        <KeyEvents name={name} />
      </Section>
      <KeyTrail name={name} />
    </>
  );
}

function From({
  of: { address = "", userAgent = "" },
}: {
  readonly of: NonNullable<OwnedAccessKey["status"]>["lastUsedFrom"] & object;
}) {
  return (
    <>
      <code>{address}</code>
      <span className="hint block">{userAgent}</span>
    </>
  );
}

function Expiry({ accessKey: { spec, status } }: { readonly accessKey: OwnedAccessKey }) {
  return (
    <>
      <Time at={status?.expirationTimestamp} otherwise={t("key.neverExpires")} />
      {spec?.ttlAfterLastActivity === true && (
        <span className="hint block">{t("key.fact.restarts", { duration: duration(Number(spec.ttl ?? 0)) })}</span>
      )}
    </>
  );
}

/** All valid credentials that were created with the key, and the key itself. Fetched again whenever the key changes. */
function useCredentials(name: string, accessKey: OwnedAccessKey | undefined) {
  const api = useApi();
  return useQuery({
    queryKey: ["credentials", "key", name, accessKey?.metadata.resourceVersion],
    async queryFn({ signal }) {
      const { status } = (await keysOf(api).getSubresource(name, "credentials", { signal })) as CredentialLedger;
      return status?.credentials ?? [];
    },
    enabled: accessKey !== undefined,
    placeholderData: (before) => before,
    refetchInterval: 30_000,
  });
}
