// The service worker: shows pushes as notifications, and answers by their buttons. It keeps no page, because every page is somebody's own.
// docs/channels/webpush.md says what a push has in it; its links begin at the server's root, so nobody else is ever called.
"use strict";

/** How long a notification shows what became of it before it goes away, in ms. */
const BRIEFLY = 4000;

self.addEventListener("install", () => self.skipWaiting());

self.addEventListener("push", (event) => {
  const told = event.data.json();
  event.waitUntil(told.ended ? showBriefly(told, told.body) : ask(told, told.body));
});

self.addEventListener("notificationclick", (event) => {
  const told = event.notification.data;
  const pressed = told.actions?.find(({ action }) => action === event.action);
  if (!pressed) event.notification.close();
  event.waitUntil(pressed ? answer(told, pressed) : open(told));
});

// The browser's push service has given it another address, or has taken the old one away.
self.addEventListener("pushsubscriptionchange", (event) => event.waitUntil(renew(event)));

/** Subscribes anew and tells the server, as the person who is signed in here. Somebody who is not is told by the page to add the browser once more. */
async function renew({ oldSubscription, newSubscription }) {
  const asked = await fetch(here("browser/renewal"), { headers: { accept: "application/json" }, cache: "no-store" });
  if (!asked.ok || asked.redirected) return;
  const { key, form } = await asked.json();
  const own = newSubscription ?? (await self.registration.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: key }));
  const body = new URLSearchParams({ form, wish: "renew", address: address(own) });
  if (oldSubscription) body.set("old", address(oldSubscription));
  await fetch(here("browser"), { method: "POST", body });
}

/** A subscription as the server knows it. */
function address(subscription) {
  const { endpoint, keys } = subscription.toJSON();
  return `${endpoint}#p256dh=${keys.p256dh}&auth=${keys.auth}`;
}

/** Shows a notification with its buttons: as many as this browser has room for. */
function ask(told, body) {
  const actions = (told.actions ?? []).slice(0, Notification.maxActions ?? 0);
  return show(told, { body, actions: actions.map(({ action, title }) => ({ action, title })), renotify: true, requireInteraction: told.stays ?? false });
}

/** Shows words in place of a notification, without a sound, and takes them away. A push that shows nothing at all costs the permission. */
async function showBriefly(told, body) {
  const data = { ...told, ended: true, actions: [] };
  await show(data, { body, silent: true });
  await new Promise((pause) => setTimeout(pause, BRIEFLY));
  for (const shown of await self.registration.getNotifications({ tag: told.tag })) {
    if (shown.data?.ended) shown.close();
  }
}

function show(told, options) {
  const { title, tag, lang, at } = told;
  return self.registration.showNotification(title, { tag, lang, timestamp: at, icon: "icon-192.png", data: told, ...options });
}

/** Gives the answer of a button. The link is its proof, so no sign-in is needed. */
async function answer(told, { link, said }) {
  const request = { method: "POST", headers: { accept: "application/json" }, credentials: "omit", cache: "no-store" };
  const status = await fetch(here(link), request).then((response) => response.status, () => 0);
  if (status === 200) return showBriefly(told, said);
  if (status === 404 || status === 410) return showBriefly(told, told.over);
  // The server is out of reach, or sends it once more right now: the buttons stay.
  return ask(told, `${told.body}\n${told.again}`);
}

/** Opens the reminder's page, in a window that shows it already if there is one. */
async function open(told) {
  const url = here(told.open);
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  const known = windows.find((window) => window.url === url);
  return known ? known.focus() : self.clients.openWindow(url);
}

function here(path) {
  return new URL(path, self.registration.scope).href;
}
