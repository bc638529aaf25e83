"""One task of the official Python client: `python-client.py URL TASK`, with the task's input as JSON on stdin.

Prints what the client made of the answers as one line of JSON; a refusal is {"code", "message", "details"}.
"""

import json
import sys

from hcloud import APIException, Client
from hcloud.actions.domain import ActionFailedException
from hcloud.firewalls.domain import FirewallResource, FirewallRule
from hcloud.images.domain import Image
from hcloud.locations.domain import Location
from hcloud.server_types.domain import ServerType
from hcloud.ssh_keys.domain import SSHKey


def server_view(server):
    return {
        "id": server.id,
        "name": server.name,
        "status": server.status,
        "created": server.created.isoformat(),
        "labels": server.labels,
        "locked": server.locked,
        "protection": server.protection,
        "server_type": server.server_type.name,
        "image": server.image.name,
        "ipv4": server.public_net.ipv4 and server.public_net.ipv4.ip,
        "ipv6": server.public_net.ipv6 and server.public_net.ipv6.ip,
    }


def action_view(action):
    return {
        "command": action.command,
        "status": action.status,
        "progress": action.progress,
        "finished": action.finished is not None,
    }


def wait(action):
    action.wait_until_finished()
    return action_view(action)


def create(client, asked):
    keys = asked.get("ssh_keys")
    response = client.servers.create(
        name=asked["name"],
        server_type=ServerType(name=asked.get("server_type", "cx23")),
        image=Image(name=asked.get("image", "debian-13")),
        location=Location(name=asked["location"]) if "location" in asked else None,
        ssh_keys=[SSHKey(name=key) for key in keys] if keys else None,
        labels=asked.get("labels"),
        user_data=asked.get("user_data"),
    )
    actions = [wait(action) for action in [response.action] + response.next_actions]
    response.server.reload()
    return {
        "server": server_view(response.server),
        "actions": actions,
        "root_password": response.root_password is not None,
    }


def find(client, asked):
    return [server_view(server) for server in client.servers.get_all(**asked)]


def find_by_name(client, name):
    server = client.servers.get_by_name(name)
    return server and server_view(server)


def update(client, asked):
    server = client.servers.get_by_name(asked.pop("server"))
    return server_view(server.update(**asked))


def protect(client, asked):
    server = client.servers.get_by_name(asked.pop("server"))
    return wait(server.change_protection(**asked))


def power(client, asked):
    server = client.servers.get_by_name(asked["server"])
    seen = []
    for command in asked["commands"]:
        wait(getattr(server, command)())
        server.reload()
        seen.append(server.status)
    return seen


def delete(client, name):
    server = client.servers.get_by_name(name)
    return {"action": wait(server.delete()), "left": client.servers.get_by_name(name) is not None}


def actions(client, name):
    server = client.servers.get_by_name(name)
    return [action_view(action) for action in server.get_actions(sort=["id:desc"])]


def key_view(key):
    return {"name": key.name, "fingerprint": key.fingerprint, "labels": key.labels}


def upload_key(client, asked):
    return key_view(client.ssh_keys.create(**asked))


def find_key(client, asked):
    key = client.ssh_keys.get_by_fingerprint(asked["fingerprint"])
    return key and key_view(key)


def delete_key(client, name):
    client.ssh_keys.get_by_name(name).delete()
    return [key.name for key in client.ssh_keys.get_all()]


def rule_of(rule):
    return FirewallRule(**rule)


def firewall_view(firewall):
    return {
        "name": firewall.name,
        "rules": [rule.to_payload() for rule in firewall.rules],
        "applied_to": [resource.type for resource in firewall.applied_to],
    }


def create_firewall(client, asked):
    rules = [rule_of(rule) for rule in asked["rules"]]
    response = client.firewalls.create(name=asked["name"], rules=rules, labels=asked.get("labels"))
    for action in response.actions:
        wait(action)
    return firewall_view(response.firewall)


def set_rules(client, asked):
    firewall = client.firewalls.get_by_name(asked["firewall"])
    actions = firewall.set_rules([rule_of(rule) for rule in asked["rules"]])
    return {"actions": [wait(action) for action in actions], "firewall": firewall_view(reloaded(firewall))}


def apply_firewall(client, asked):
    firewall = client.firewalls.get_by_name(asked["firewall"])
    actions = firewall.apply_to_resources(resources(client, asked))
    return {"actions": [wait(action) for action in actions], "firewall": firewall_view(reloaded(firewall))}


def remove_firewall(client, asked):
    firewall = client.firewalls.get_by_name(asked["firewall"])
    actions = firewall.remove_from_resources(resources(client, asked))
    return {"actions": [wait(action) for action in actions], "firewall": firewall_view(reloaded(firewall))}


def delete_firewall(client, name):
    client.firewalls.get_by_name(name).delete()
    return [firewall.name for firewall in client.firewalls.get_all()]


def resources(client, asked):
    server = client.servers.get_by_name(asked["server"])
    return [FirewallResource(type=FirewallResource.TYPE_SERVER, server=server)]


def reloaded(resource):
    resource.reload()
    return resource


def snapshot(client, asked):
    server = client.servers.get_by_name(asked.pop("server"))
    response = server.create_image(**asked)
    first = response.image.status
    actions = [wait(response.action), wait(response.image.change_protection(delete=True))]
    image = reloaded(response.image)
    return {
        "statuses": [first, image.status],
        "actions": actions,
        "listed": [action.command for action in image.get_actions(sort=["id"])],
        "protected": image.protection["delete"],
        "description": image.update(description="silver").description,
        "created_from": image.created_from.name,
    }


def delete_images(client, asked):
    images = client.images.get_all(**asked)
    for image in images:
        wait(image.change_protection(delete=False))
        image.delete()
    return [len(images), len(client.images.get_all(**asked))]


def catalogue(client, _):
    return {
        "locations": [location.name for location in client.locations.get_all()],
        "server_types": [server_type.name for server_type in client.server_types.get_all()],
        "images": [image.name for image in client.images.get_all()],
        "type": client.server_types.get_by_name("cx23").cores,
        "image": client.images.get_by_name("debian-13").os_flavor,
        "primary_ips": [ip.ip for ip in client.primary_ips.get_all()],
    }


TASKS = {
    task.__name__: task
    for task in (
        create,
        find,
        find_by_name,
        update,
        protect,
        power,
        delete,
        actions,
        upload_key,
        find_key,
        delete_key,
        create_firewall,
        set_rules,
        apply_firewall,
        remove_firewall,
        delete_firewall,
        snapshot,
        delete_images,
        catalogue,
    )
}


def main():
    url, task = sys.argv[1:]
    client = Client(token="simulated", api_endpoint=url + "/v1", poll_interval=0.01)
    client._retry_wait_time = 0
    try:
        answer = TASKS[task](client, json.load(sys.stdin))
    except APIException as error:
        answer = {"code": error.code, "message": error.message, "details": error.details}
    except ActionFailedException as error:
        answer = error.action.error
    print(json.dumps(answer, default=str))


main()
