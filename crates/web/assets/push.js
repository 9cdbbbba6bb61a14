// This browser as an address: <this-browser> stands around a form that the server has written, and sends it the browser's subscription.
// It shows the one part that fits: data-when is off, on, denied or missing.

class ThisBrowser extends HTMLElement {
  async connectedCallback() {
    this.form = this.querySelector("form");
    this.addEventListener("click", (event) => {
      const wish = event.target.closest("button[data-wish]")?.dataset.wish;
      if (wish) this[wish]();
    });
    if (!("serviceWorker" in navigator && "PushManager" in window && "Notification" in window)) return this.show("missing");
    if (Notification.permission === "denied") return this.show("denied");
    this.registration = await navigator.serviceWorker.register("/sw.js");
    const own = await this.subscription();
    this.show(own && this.known.includes(address(own)) ? "on" : "off");
  }

  /** The addresses that the person has. */
  get known() {
    return JSON.parse(this.dataset.known);
  }

  /** The subscription for this server's key. One for an older key gets no messages any more, and is ended. */
  async subscription() {
    const own = await this.registration.pushManager.getSubscription();
    if (!own || text(own.options.applicationServerKey) === this.dataset.key) return own;
    await own.unsubscribe();
    return null;
  }

  async add() {
    if ((await Notification.requestPermission()) !== "granted") return this.show("denied");
    await navigator.serviceWorker.ready;
    const options = { userVisibleOnly: true, applicationServerKey: this.dataset.key };
    const own = (await this.subscription()) ?? (await this.registration.pushManager.subscribe(options).catch(() => null));
    if (own) this.send("add", address(own));
    else this.show("missing");
  }

  async remove() {
    const own = await this.subscription();
    if (!own) return this.show("off");
    await own.unsubscribe();
    this.send("remove", address(own));
  }

  send(wish, address) {
    this.form.elements.wish.value = wish;
    this.form.elements.address.value = address;
    this.form.requestSubmit();
  }

  show(state) {
    for (const part of this.querySelectorAll("[data-when]")) part.hidden = part.dataset.when !== state;
  }
}

function address(subscription) {
  const { endpoint, keys } = subscription.toJSON();
  return `${endpoint}#p256dh=${keys.p256dh}&auth=${keys.auth}`;
}

/** Bytes in base64url. */
function text(bytes) {
  return btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

customElements.define("this-browser", ThisBrowser);
