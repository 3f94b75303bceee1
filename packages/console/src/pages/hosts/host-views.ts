// The views of host clusters that are loaded together.

export { HostPage } from "./host-page.tsx";
export { HostsPage } from "./hosts-page.tsx";
