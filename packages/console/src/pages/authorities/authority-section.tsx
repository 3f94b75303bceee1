// The CA of the platform or of a virtual cluster: which one signs, what still depends on the earlier one, and the steps of a rotation.

import type { CertificateAuthorityView, OutdatedItem, RotationAction } from "@postern/api/certificate-authority";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Right } from "../../api/use-may.ts";
import { Badge, type Tone } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { DescriptionCard } from "../../components/description-list.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { Loading } from "../../components/loading.tsx";
import { ErrorNotice, Notice } from "../../components/notice.tsx";
import { Section } from "../../components/page-head.tsx";
import { WhyNot } from "../../components/refusals/why-not.tsx";
import { LongList } from "../../components/tables/long-list.tsx";
import { Time } from "../../components/time.tsx";
import { counted, named, sentence, t } from "../../texts/text.tsx";
import { consequencesOf } from "./rotation-words.ts";

type Status = NonNullable<CertificateAuthorityView["status"]>;
/** The platform has a CA that is prepared, and signs nothing until the rotation is complete. */
export type AuthorityStatus = Status & { readonly prepared?: Status["signing"] };

export type AuthoritySource = {
  /** Distinguishes it from others. */
  readonly id: readonly string[];
  readonly isPlatform: boolean;
  /** To read it. */
  readonly right: Right;
  /** To take steps. */
  readonly mayRotate: Right;
  readonly read: (signal: AbortSignal) => Promise<AuthorityStatus>;
  readonly take: (action: RotationAction) => Promise<unknown>;
};

const TONES: { readonly [phase: string]: Tone } = { Prepared: "warn", Completed: "good" };

/** Nothing without permission to read it. */
export function AuthoritySection({ source }: { readonly source: AuthoritySource }) {
  const { id, right, read, isPlatform } = source;
  const { data, error, isLoading, refetch } = useQuery({
    queryKey: ["authority", ...id],
    queryFn: ({ signal }) => read(signal),
    enabled: right.isAllowed,
    refetchInterval: 30_000,
    retry: false,
  });
  if (!right.isAllowed) return null;
  const isElsewhere = isApiError(error, "Conflict");
  return (
    <Section
      title={t("authority.title")}
      lead={t(isPlatform ? "authority.lead.platform" : "authority.lead.cluster")}
      actions={data !== undefined && <Steps source={source} status={data} onTaken={() => void refetch()} />}
    >
      {isLoading && <Loading />}
      {isElsewhere && <p className="muted">{sentence(error.message)}</p>}
      {error !== null && !isElsewhere && <ErrorNotice error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <State status={data} isPlatform={isPlatform} />}
    </Section>
  );
}

function State({ status, isPlatform }: { readonly status: AuthorityStatus; readonly isPlatform: boolean }) {
  const { phase = "None", signing, previous, prepared, preparationTimestamp, completionTimestamp } = status;
  const other = prepared ?? previous;
  const { items = [] } = status.outdated ?? {};
  const isPrepared = phase === "Prepared";
  return (
    <>
      <DescriptionCard
        items={[
          [
            t("authority.phase"),
            <Badge key="phase" tone={TONES[phase] ?? "muted"}>
              {named("authority.phase", phase)}
            </Badge>,
          ],
          [t("authority.signing"), <code key="signing">{signing?.name ?? ""}</code>],
          [t("field.expires"), <Time key="expires" at={signing?.expirationTimestamp} otherwise="" />],
          other !== undefined && [
            t(prepared === undefined ? "authority.previous" : "authority.prepared"),
            <code key="other">{other.name ?? ""}</code>,
          ],
          isPrepared && [t("authority.since"), <Time key="since" at={preparationTimestamp} otherwise="" />],
          completionTimestamp !== undefined && [
            t("authority.rotated"),
            <Time key="rotated" at={completionTimestamp} otherwise="" />,
          ],
        ]}
      />
      {isPrepared && (
        <Notice tone="info">{t(isPlatform ? "authority.next.platform" : "authority.next.cluster")}</Notice>
      )}
      {isPrepared && items.length === 0 && <p className="muted">{t("authority.outdated.none")}</p>}
      {items.length > 0 && <OutdatedItems status={status} items={items} />}
    </>
  );
}

function OutdatedItems({
  status,
  items,
}: {
  readonly status: AuthorityStatus;
  readonly items: readonly OutdatedItem[];
}) {
  const { certificates = 0, accessKeys = 0, tokenSecrets = 0 } = status.outdated ?? {};
  const total = certificates + accessKeys + tokenSecrets;
  return (
    <>
      <h3>{counted("authority.outdated", total)}</h3>
      <LongList items={items} none={t("list.none")} textOf={({ id, subject, owner }) => `${id} ${subject} ${owner}`}>
        {({ kind = "", id = "", subject = "", owner = "", expirationTimestamp, lastActivity, lastUsedFrom }) => (
          <li key={`${kind} ${id}`}>
            <span className="two-lines">
              <span className="mono">{id}</span>
              <span className="muted">
                {kind === "Secret" ? t("authority.outdated.secret") : [subject, owner].filter(Boolean).join(", ")}
              </span>
            </span>
            <span className="two-lines">
              {expirationTimestamp !== undefined && (
                <span>
                  {t("authority.outdated.until")} <Time at={expirationTimestamp} otherwise="" />
                </span>
              )}
              {kind !== "Secret" && (
                <span className="muted">
                  {t("authority.outdated.used")} <Time at={lastActivity} otherwise={t("authority.outdated.unused")} />{" "}
                  {[lastUsedFrom?.address, lastUsedFrom?.userAgent].filter(Boolean).join(", ")}
                </span>
              )}
            </span>
          </li>
        )}
      </LongList>
      {items.length < total && <p className="hint">{t("authority.outdated.first")}</p>}
    </>
  );
}

function Steps(props: {
  readonly source: AuthoritySource;
  readonly status: AuthorityStatus;
  readonly onTaken: () => void;
}) {
  const { source, status, onTaken } = props;
  const { mayRotate, isPlatform, take } = source;
  const [asked, setAsked] = useState<RotationAction>();
  const actions: readonly RotationAction[] = status.phase === "Prepared" ? ["Complete", "Abort"] : ["Prepare"];
  return (
    <>
      {actions.map((action) => (
        <Button
          key={action}
          kind={action === "Complete" ? "primary" : "plain"}
          isDisabled={!mayRotate.isAllowed}
          onPress={() => setAsked(action)}
        >
          {t(`authority.step.${action}`)}
        </Button>
      ))}
      <WhyNot right={mayRotate} />
      {asked !== undefined && (
        <Confirm
          isOpen
          onClose={() => setAsked(undefined)}
          title={t(`authority.ask.${asked}`)}
          action={t(`authority.step.${asked}`)}
          isDangerous={asked !== "Prepare"}
          consequences={consequencesOf(asked, status, isPlatform)}
          onConfirm={async () => {
            await take(asked);
            onTaken();
          }}
        />
      )}
    </>
  );
}
