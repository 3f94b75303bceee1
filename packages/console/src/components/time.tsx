// A relative time that stays current.

import { absoluteTime, relativeTime } from "../format/ages.ts";
import { useNow } from "../format/now.ts";

/** A relative time, with the exact time on hover and for screen readers. */
export function Time(props: { readonly at: string | null | undefined; readonly otherwise: string }) {
  const { at, otherwise } = props;
  const now = useNow();
  if (!at) return <span className="muted">{otherwise}</span>;
  const time = Date.parse(at);
  return (
    <time dateTime={at} title={absoluteTime(time)}>
      {relativeTime(time, now)}
    </time>
  );
}
