// The Events of a key, newest first.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { EVENTS } from "../../../api/resources.ts";
import { useLive } from "../../../api/use-live.ts";
import { useMay } from "../../../api/use-may.ts";
import { Loading } from "../../../components/loading.tsx";
import { Time } from "../../../components/time.tsx";
import { t } from "../../../texts/text.tsx";

type Event = KubeObject & {
  readonly reason?: string;
  readonly message?: string;
  readonly lastTimestamp?: string;
  readonly firstTimestamp?: string;
  readonly eventTime?: string;
};

const timeOf = ({ lastTimestamp, eventTime, firstTimestamp, metadata }: Event): string =>
  lastTimestamp ?? eventTime ?? firstTimestamp ?? metadata.creationTimestamp ?? "";

export function KeyEvents({ name }: { readonly name: string }) {
  const right = useMay({ verb: "list", group: "", resource: "events" });
  const fieldSelector = `involvedObject.kind=OwnedAccessKey,involvedObject.name=${name}`;
  const { items, isLoading, error } = useLive<Event>(EVENTS, { fieldSelector, isWanted: right.isAllowed });
  if (right.isKnown && !right.isAllowed) return <p className="muted">{t("key.events.mayNot")}</p>;
  if (error !== null) return <p className="muted">{error.message}</p>;
  if (isLoading || !right.isKnown) return <Loading />;
  if (items.length === 0) return <p className="muted">{t("key.events.none")}</p>;
  const sorted = [...items].sort((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1));
  return (
    <ol className="events">
      {sorted.map((event) => (
        <li key={event.metadata.uid}>
          <span className="muted">
            <Time at={timeOf(event)} otherwise="" />
          </span>
          <strong>{event.reason}</strong>
          <span>{event.message}</span>
        </li>
      ))}
    </ol>
  );
}
